//! Vital signs: of each code the newest, a panel such as blood pressure as one row.

use super::super::concept::has_any;
use super::super::shared::Section;
use super::super::shared::observations::{COLUMNS, rows};

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "vitalsigns",
    code: "8716-3",
    display: "Vital signs note",
    title: "Vital Signs",
    columns: COLUMNS,
    nothing: "No information about vital signs is available.",
    rows: |chart| rows(chart, |entry| has_any(entry.get("category"), &["vital-signs"])),
};
