//! Criteria: what matches.

pub(super) mod conditions;
pub(super) mod dates;
pub(super) mod filters;
pub(super) mod finer_points;
pub(super) mod many;
pub(super) mod numbers;
pub(super) mod queries;
pub(super) mod sampled;
pub(super) mod terminology;
