//! A patient's whole record: which resources belong to it, and its pages.

pub(super) mod members;
pub(super) mod page;
pub(super) mod request;
