//! Compaction: merges many small or overlapping files of a table into few large ones with disjoint owner ranges. After
//! a thorough compaction one person's rows are adjacent, in whatever order they were imported.
//!
//! `plan` decides which files to merge, `merge` merges them in bounded memory, and `run` commits the result. Readers
//! keep the snapshots that they hold. Replaced files stay until the snapshots that need them have expired.

mod merge;
mod plan;
mod run;

pub use plan::Effort;
pub use run::{CompactOptions, Compacted, Compaction, Unreadable, run};
