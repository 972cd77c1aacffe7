//! Value sets and their codes.

pub(super) mod raw;
pub(super) mod stored_sets;
pub(super) mod value_set;
