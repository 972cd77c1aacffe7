//! The clinical summary, as R4 calls it: allergies, conditions and procedures.

pub(in crate::sandbox) mod allergies;
pub(in crate::sandbox) mod conditions;
pub(in crate::sandbox) mod diagnoses;
pub(in crate::sandbox) mod procedures;
