//! Sync jobs, what each brought, and what it could not have.

pub(super) mod dangling;
pub(super) mod jobs;
pub(super) mod missing;
pub(super) mod readiness;
