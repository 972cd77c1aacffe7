//! Evaluates the select tree of a view over a batch of resources.

pub(super) mod budget;
pub(super) mod culprit;
pub(super) mod evaluate;
pub(super) mod index;
pub(super) mod project;
pub(super) mod relation;
pub(super) mod repeat;
pub(super) mod values;
pub(super) mod widths;
