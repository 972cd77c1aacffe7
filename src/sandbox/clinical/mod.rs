//! A person's clinical records.

pub(super) mod care;
pub(super) mod codes;
pub(super) mod devices;
pub(super) mod diagnostics;
pub(super) mod documents;
pub(super) mod encounters;
pub(super) mod medication;
pub(super) mod provenance;
pub(super) mod summary;
