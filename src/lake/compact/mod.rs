//! Compaction: many small or overlapping files of a table become few large ones with disjoint owner ranges, so that one
//! person's rows lie together whatever order they came in.
//!
//! `plan` decides which files to merge, `merge` does it in bounded memory, `run` commits the outcome. Readers go on
//! with the pictures they hold; replaced files stay until the snapshots that need them have expired.

mod merge;
mod plan;
mod run;

pub use plan::Effort;
pub use run::{CompactOptions, Compacted, Compaction, Unreadable, run};
