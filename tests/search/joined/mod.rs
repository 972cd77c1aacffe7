//! Conditions on other resources, and resources that an answer includes.

pub(super) mod canonicals;
pub(super) mod contained;
pub(super) mod includes;
pub(super) mod joins;
pub(super) mod plans;
