//! The one writer: commits snapshots and cleans up after interrupted writers.

mod create;
pub(super) mod lock;
pub(super) mod lost;
pub(super) mod mark;
pub(super) mod mend;
pub(super) mod orphans;
pub(super) mod trace;
pub(super) mod transaction;
pub(super) mod writer;
pub(super) mod written;
