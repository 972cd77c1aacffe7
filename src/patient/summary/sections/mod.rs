//! The 14 sections, one file for each: the section's title, and which records it shows.

pub(super) mod advance_directives;
pub(super) mod allergies;
pub(super) mod devices;
pub(super) mod functional_status;
pub(super) mod immunizations;
pub(super) mod medications;
pub(super) mod past_illness;
pub(super) mod plan_of_care;
pub(super) mod pregnancy;
pub(super) mod problems;
pub(super) mod procedures;
pub(super) mod results;
pub(super) mod social_history;
pub(super) mod vital_signs;
