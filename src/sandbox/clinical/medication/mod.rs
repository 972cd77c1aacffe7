//! Medications, as R4 calls them: drugs that are prescribed and handed out, and immunizations.

pub(in crate::sandbox) mod dispensing;
pub(in crate::sandbox) mod drugs;
pub(in crate::sandbox) mod immunizations;
pub(in crate::sandbox) mod medications;
