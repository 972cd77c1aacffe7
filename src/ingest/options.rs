//! The options of an import.

use std::sync::Arc;

use super::rules::Normalization;
use crate::lake::Mode;

/// The default application of imported data.
pub const LOCAL_APPLICATION: &str = "local";

/// With more threads, the unfinished files would exceed the memory.
const MAX_THREADS: usize = 8;

/// Limits of an import's memory. Data beyond them is written or read more often, with the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// When the waiting resources reach this size in bytes, they are written until a third is left. With rules, as many
    /// further bytes wait in memory for the rules.
    pub buffer: usize,
    /// The maximum number of resource identifiers kept for conditional references, of all types together: 100 bytes
    /// each.
    pub identifiers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            buffer: 96 << 20,
            identifiers: 1 << 20,
        }
    }
}

/// The options of an import.
#[derive(Clone)]
pub struct Options {
    /// Live or test tables.
    pub mode: Mode,
    /// The application and mode of the data.
    pub application: String,
    /// Give resources the ids that a sync would give them.
    pub rewrite_ids: bool,
    /// Apply the rules of [`normalize`](crate::normalize). Writing begins after all of the input is read.
    pub normalize: Option<Normalization>,
    /// Do everything except the commit.
    pub dry_run: bool,
    /// The limits of memory.
    pub limits: Limits,
    /// Called with the number of bytes after each read.
    pub progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl Options {
    /// How many threads read and write.
    pub(super) fn threads(&self) -> usize {
        std::thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MAX_THREADS)
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Options {
            mode,
            application,
            rewrite_ids,
            normalize,
            dry_run,
            limits,
            progress: _,
        } = self;
        f.debug_struct("Options")
            .field("mode", mode)
            .field("application", application)
            .field("rewrite_ids", rewrite_ids)
            .field("normalize", normalize)
            .field("dry_run", dry_run)
            .field("limits", limits)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            mode: Mode::Live,
            application: LOCAL_APPLICATION.to_owned(),
            rewrite_ids: false,
            normalize: None,
            dry_run: false,
            limits: Limits::default(),
            progress: None,
        }
    }
}
