//! A person's current problems.

use super::super::shared::Section;
use super::super::shared::conditions::{COLUMNS, State, problems, row};

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "problems",
    code: "11450-4",
    display: "Problem list - Reported",
    title: "Problem List",
    columns: COLUMNS,
    nothing: "No information about problems is available.",
    rows: |chart| {
        problems(chart, State::Active)
            .into_iter()
            .map(|at| row(chart, at))
            .collect()
    },
};
