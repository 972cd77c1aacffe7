//! Vital signs: the newest for each code. A panel such as blood pressure is one row.

use super::super::shared::Section;
use super::super::shared::observations::{COLUMNS, rows};

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "vitalsigns",
    code: "8716-3",
    display: "Vital signs note",
    title: "Vital Signs",
    columns: COLUMNS,
    nothing: "No information about vital signs is available.",
    rows: |chart| rows(chart, |entry| entry.has_category(&["vital-signs"])),
};
