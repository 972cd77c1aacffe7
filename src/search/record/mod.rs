//! A patient's whole record: what belongs to it, and how it is given out.

pub(super) mod members;
pub(super) mod page;
