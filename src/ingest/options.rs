//! The options of an import.

use std::sync::Arc;

use super::rules::Normalization;
use crate::lake::Mode;

/// More threads than this would hold more files in the making than memory allows.
const MAX_THREADS: usize = 8;

/// Bounds on an import's memory. Data beyond them is written or read more often, with the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Resources are written once this many bytes of them wait, and then until a third is left. Where rules are
    /// applied, this many more wait for them in memory.
    pub buffer: usize,
    /// How many identifiers of resources are kept to resolve conditional references by, of all types together: 100
    /// bytes each.
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
    /// Apply the rules of [`normalize`](crate::normalize). Nothing is written before all of the input is read.
    pub normalize: Option<Normalization>,
    /// Do everything but the commit.
    pub dry_run: bool,
    /// How much is kept in memory.
    pub limits: Limits,
    /// Told the number of bytes read, as they are.
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
            application: super::LOCAL_APPLICATION.to_owned(),
            rewrite_ids: false,
            normalize: None,
            dry_run: false,
            limits: Limits::default(),
            progress: None,
        }
    }
}
