//! The resources of R4's group Medications: prescriptions, dispenses and immunizations.

pub(in crate::sandbox) mod dispensing;
pub(in crate::sandbox) mod drugs;
pub(in crate::sandbox) mod immunizations;
pub(in crate::sandbox) mod medications;
