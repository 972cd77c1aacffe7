//! Writes, loads and expires snapshots in the catalog, with the statistics of their files.

pub(super) mod commit;
pub(super) mod expire;
pub(super) mod growth;
pub(super) mod insert;
pub(super) mod load;
pub(super) mod statistics;
