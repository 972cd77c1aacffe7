//! Social history: of each code the newest.

use super::super::shared::Section;
use super::super::shared::observations::{COLUMNS, rows};
use super::pregnancy::CODES;
use crate::patient::concept::{has_any, loinc};

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "socialhistory",
    code: "29762-2",
    display: "Social history note",
    title: "Social History",
    columns: COLUMNS,
    nothing: "No information about social history is available.",
    rows: |chart| {
        // Pregnancy has a section of its own, though sources file it here.
        rows(chart, |entry| {
            has_any(entry.get("category"), &["social-history"]) && loinc(entry.get("code"), CODES).is_none()
        })
    },
};
