//! Sync jobs, their results, and what was missing.

pub(super) mod dangling;
pub(super) mod jobs;
pub(super) mod missing;
pub(super) mod readiness;
