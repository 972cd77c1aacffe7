//! The order of the sections.

use super::section::Section;
use super::{activity, care, claims, observations, person, problems};

/// All sections except the last one, which shows the remaining resources.
pub(in crate::patient::pdf) const SECTIONS: &[Section] = &[
    person::DEMOGRAPHICS,
    person::CARE_TEAM,
    claims::INSURANCE,
    problems::ALLERGIES,
    problems::ACTIVE,
    care::MEDICATIONS,
    care::CARE_PLAN,
    care::GOALS,
    observations::VITAL_SIGNS,
    observations::LAB_RESULTS,
    observations::IMAGING,
    activity::ENCOUNTERS,
    activity::APPOINTMENTS,
    claims::CLAIMS,
    activity::IMMUNIZATIONS,
    activity::PROCEDURES,
    activity::DEVICES,
    problems::FAMILY_HISTORY,
    problems::FLAGS,
    care::ORDERS,
    activity::DOCUMENTS,
    observations::SOCIAL_HISTORY,
    problems::PAST_ILLNESS,
    activity::QUESTIONNAIRES,
    person::RELATED_PERSONS,
];

/// The title of the last section.
pub(in crate::patient::pdf) const OTHER: &str = "Other Records";
