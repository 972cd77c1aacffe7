//! Requested erasures, their causes, and their receipts.

pub(super) mod digest;
pub(super) mod erased_since;
pub(super) mod erasure_jobs;
pub(super) mod erasures;
pub(super) mod forget;
pub(super) mod job;
pub(super) mod receipt;
