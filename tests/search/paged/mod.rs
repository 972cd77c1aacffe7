//! Pages of an answer, and their order.

pub(super) mod newest;
pub(super) mod order;
pub(super) mod pages;
pub(super) mod sorting;
pub(super) mod walks;
