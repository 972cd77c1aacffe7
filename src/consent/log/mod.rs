//! The audit log and its archive.

pub(super) mod audit;
pub(super) mod audit_archive;
