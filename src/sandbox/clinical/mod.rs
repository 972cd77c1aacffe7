//! A person's clinical records.

pub(super) mod allergies;
pub(super) mod care;
pub(super) mod codes;
pub(super) mod conditions;
pub(super) mod devices;
pub(super) mod diagnoses;
pub(super) mod documents;
pub(super) mod drugs;
pub(super) mod encounters;
pub(super) mod immunizations;
pub(super) mod labs;
pub(super) mod medications;
pub(super) mod observations;
pub(super) mod procedures;
pub(super) mod provenance;
pub(super) mod reports;
pub(super) mod vitals;
