//! Erasures that were asked for, who asked, and the receipts of what was done.

pub(super) mod erased_since;
pub(super) mod erasure_jobs;
pub(super) mod erasures;
pub(super) mod forget;
pub(super) mod receipt;
