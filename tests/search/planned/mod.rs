//! How a search runs.

pub(super) mod parts;
pub(super) mod plans;
pub(super) mod traveling;
pub(super) mod ways;
