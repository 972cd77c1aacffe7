//! Pregnancy: the status, the expected date of delivery, and earlier pregnancies.

use super::super::shared::Section;
use super::super::shared::observations::{COLUMNS, rows};
use crate::patient::concept::loinc;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "pregnancy",
    code: "10162-6",
    display: "History of pregnancies Narrative",
    title: "History of Pregnancy",
    columns: COLUMNS,
    nothing: "No information about pregnancies is available.",
    rows: |chart| rows(chart, |entry| loinc(entry.get("code"), CODES).is_some()),
};

/// LOINC codes of the pregnancy status.
pub(in crate::patient::summary) const STATUS: &[&str] = &["82810-3"];
/// LOINC codes of pregnancy outcomes.
pub(in crate::patient::summary) const OUTCOMES: &[&str] = &[
    "11636-8", "11637-6", "11638-4", "11639-2", "11640-0", "11612-9", "11613-7", "11614-5", "33065-4",
];
/// LOINC codes of the expected date of delivery.
pub(in crate::patient::summary) const DUE: &[&str] = &["11778-8", "11779-6", "11780-4"];

/// All codes of the section.
pub(in crate::patient::summary) const CODES: &[&str] = &[
    "82810-3", "11636-8", "11637-6", "11638-4", "11639-2", "11640-0", "11612-9", "11613-7", "11614-5", "33065-4",
    "11778-8", "11779-6", "11780-4",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_all_codes_is_whole() {
        assert_eq!(CODES, [STATUS, OUTCOMES, DUE].concat());
    }
}
