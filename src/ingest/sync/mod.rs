//! What the records of a source become.

pub(super) mod marked;
pub(super) mod synced;
