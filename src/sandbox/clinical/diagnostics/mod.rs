//! The resources of R4's group Diagnostics: observations and reports.

pub(in crate::sandbox) mod labs;
pub(in crate::sandbox) mod observations;
pub(in crate::sandbox) mod reports;
pub(in crate::sandbox) mod vitals;
