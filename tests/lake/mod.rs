//! The lake: its catalog, its files and its keys, and what damage and kills leave of them.

pub(super) mod attachments;
pub(super) mod bit_rot;
pub(super) mod catalog;
pub(super) mod clock;
pub(super) mod compaction;
pub(super) mod crash;
pub(super) mod failed_sync;
pub(super) mod foreign;
pub(super) mod keys;
pub(super) mod old_lake;
pub(super) mod table_statistics;
pub(super) mod waiting;
