//! Social history: the newest Observation for each code.

use super::super::shared::Section;
use super::super::shared::observations::{COLUMNS, rows};
use super::pregnancy::CODES;
use crate::patient::concept::loinc;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "socialhistory",
    code: "29762-2",
    display: "Social history note",
    title: "Social History",
    columns: COLUMNS,
    nothing: "No information about social history is available.",
    rows: |chart| {
        // Leave out Observations about pregnancy. Sources give them the category `social-history`, too, but the summary
        // shows them in the section about pregnancy.
        rows(chart, |entry| {
            entry.has_category(&["social-history"]) && loinc(entry.get("code"), CODES).is_none()
        })
    },
};
