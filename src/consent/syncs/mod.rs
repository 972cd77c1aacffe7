//! Sync jobs, their results, and missing records.

pub(super) mod dangling;
pub(super) mod history;
pub(super) mod jobs;
pub(super) mod linked;
pub(super) mod missing;
pub(super) mod outcome;
pub(super) mod presence;
pub(super) mod readiness;
pub(super) mod report;
pub(super) mod retries;
