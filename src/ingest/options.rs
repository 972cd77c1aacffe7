//! The options of an import.

use std::sync::Arc;

use super::rules::Normalization;
use crate::lake::Mode;

/// The default application of imported data.
pub const LOCAL_APPLICATION: &str = "local";

/// The maximum number of threads. Each holds unfinished files in memory, so more threads would need too much.
const MAX_THREADS: usize = 8;

/// Limits of an import's memory. With lower limits, more data is written to temporary files or read again. The result
/// is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// When the resources that wait to be written reach this number of bytes, they are written until a third of this
    /// number remains. With rules, further resources wait in memory for the rules, up to the same number of bytes.
    pub buffer: usize,
    /// The maximum number of keys in the index of identifiers, for conditional references, over all types. An
    /// identifier has two keys. A key takes about 100 bytes.
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
    /// Whether the records are live or test records.
    pub mode: Mode,
    /// The application to which the records belong.
    pub application: String,
    /// Whether resources get new ids, of the form that a sync gives them.
    pub rewrite_ids: bool,
    /// If it is set, the rules of [`normalize`](crate::normalize) are applied. Then no row is written before the end of
    /// the input.
    pub normalize: Option<Normalization>,
    /// Whether to do everything except the commit.
    pub dry_run: bool,
    /// The limits of memory.
    pub limits: Limits,
    /// Called after each piece of input, with the number of bytes on disk that were read for it.
    pub progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl Options {
    /// Returns the number of threads that read and write.
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
