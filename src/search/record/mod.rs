//! A patient's whole record: its resources, and its pages.

pub(super) mod members;
pub(super) mod page;
pub(super) mod request;
