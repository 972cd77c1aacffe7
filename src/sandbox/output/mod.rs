//! Writes the population as FHIR resources.

pub(super) mod datatypes;
pub(super) mod folder;
pub(super) mod json;
pub(super) mod organizations;
pub(super) mod patient;
pub(super) mod records;
