//! The list of sections, in the order of the document.

use super::sections::{
    advance_directives, allergies, devices, functional_status, immunizations, medications, past_illness, plan_of_care,
    pregnancy, problems, procedures, results, social_history, vital_signs,
};
use super::shared::Section;

/// All sections.
pub(super) static SECTIONS: [&Section; 14] = [
    &allergies::SECTION,
    &medications::SECTION,
    &problems::SECTION,
    &immunizations::SECTION,
    &procedures::SECTION,
    &results::SECTION,
    &vital_signs::SECTION,
    &social_history::SECTION,
    &devices::SECTION,
    &plan_of_care::SECTION,
    &functional_status::SECTION,
    &past_illness::SECTION,
    &pregnancy::SECTION,
    &advance_directives::SECTION,
];
