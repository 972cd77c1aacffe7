//! A person's past problems.

use super::super::shared::Section;
use super::super::shared::conditions::{COLUMNS, State, problems, row};

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "pastillness",
    code: "11348-0",
    display: "History of Past illness note",
    title: "History of Past Illness",
    columns: COLUMNS,
    nothing: "No information about past illness is available.",
    rows: |chart| {
        problems(chart, State::Over)
            .into_iter()
            .map(|at| row(chart, at))
            .collect()
    },
};
