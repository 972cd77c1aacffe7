//! Turns the records of a source into rows.

pub(super) mod base;
pub(super) mod marked;
pub(super) mod synced;
