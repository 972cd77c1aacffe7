//! The resources of a page, the requested parts of these resources, and the Bundle around them.

pub(super) mod answer;
pub(super) mod attached;
pub(super) mod fetch;
pub(super) mod page;
pub(super) mod subset;
