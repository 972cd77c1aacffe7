//! The pages, one file each.

pub(super) mod resource;
pub(super) mod stored;
pub(super) mod table;
