//! The resources of R4's group Summary: allergies, conditions and procedures.

pub(in crate::sandbox) mod allergies;
pub(in crate::sandbox) mod conditions;
pub(in crate::sandbox) mod diagnoses;
pub(in crate::sandbox) mod procedures;
