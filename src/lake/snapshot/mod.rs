//! One snapshot of the lake, immutable: the files of each table, and the facts about them that need no file access.
//!
//! Readers hold an `Arc<Snapshot>` and do not query the catalog again. Successive snapshots share unchanged parts.
//! `catalog` makes snapshots from the catalog's rows.

mod files;
mod owners;
mod tables;

pub use files::{DataFile, DeleteFile};
pub use tables::{Snapshot, TableSnapshot};
