//! The resources of a page, the parts of them that were asked for, and the Bundle around them.

pub(super) mod answer;
pub(super) mod attached;
pub(super) mod fetch;
pub(super) mod page;
pub(super) mod subset;
