//! Value sets and which codes are in them.

pub(super) mod raw;
pub(super) mod stored_sets;
pub(super) mod value_set;
