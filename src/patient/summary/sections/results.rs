//! Laboratory results and diagnostic reports: the newest for each code, with earlier ones.

use super::super::record::{Chart, Entry};
use super::super::shared::common::{cell, merge, named, newest_observed};
use super::super::shared::observations::{COLUMNS, row};
use super::super::shared::{Row, Section};
use crate::patient::concept::{LOINC, codings};
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "results",
    code: "30954-2",
    display: "Relevant diagnostic tests/laboratory data note",
    title: "Results",
    columns: COLUMNS,
    nothing: "No information about results is available.",
    rows,
};

/// Statuses of reports and Observations with results.
const RESULTED: &[&str] = &["final", "amended", "corrected"];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let reports = chart.own("DiagnosticReport").filter(|at| {
        let entry = &chart.entries[*at];
        (entry.is_one("status", RESULTED) || entry.is_one("status", &["appended"])) && !is_note(entry)
    });
    let reports = newest_observed(chart, reports);
    let reports = merge(chart, &reports, |entry| entry.get("code"), |_| None);
    let mut rows: Vec<Row> = reports
        .iter()
        .map(|same| report(chart, same.first, &same.others))
        .collect();
    let tests = chart.own("Observation").filter(|at| {
        let entry = &chart.entries[*at];
        entry.is_one("status", RESULTED) && entry.has_category(&["laboratory"])
    });
    let tests = newest_observed(chart, tests);
    let tests = merge(chart, &tests, |entry| entry.get("code"), |_| None);
    rows.extend(tests.iter().map(|same| row(chart, same.first, &same.others)));
    rows
}

/// Whether a report is a clinical note: it has categories, and all of them are LOINC codes of documents. A report with
/// results has other categories: a diagnostic service such as LAB, or a LOINC part such as LP29684-5 (Radiology).
fn is_note(entry: &Entry<'_>) -> bool {
    let mut categories = entry.get("category").into_iter().flat_map(codings).peekable();
    categories.peek().is_some()
        && categories.all(|coding| {
            let is_loinc = coding.get_str("system").as_deref() == Some(LOINC);
            is_loinc && coding.get_str("code").is_some_and(|code| !code.starts_with("LP"))
        })
}

fn report(chart: &Chart<'_>, at: usize, earlier: &[usize]) -> Row {
    let entry = &chart.entries[at];
    let conclusion = words::text(entry.get("conclusion")).or_else(|| words::concepts(entry.get("conclusionCode")));
    let results = entry.get("result").map_or(0, |list| list.items().count());
    let count = match results {
        0 => None,
        1 => Some("1 result".to_owned()),
        count => Some(format!("{count} results")),
    };
    let mut days = earlier
        .iter()
        .map(|at| chart.entries[*at].observed_on())
        .filter(|day| !day.is_empty());
    let before = match earlier.len() {
        0 => None,
        count => Some(format!(
            "{count} earlier{}",
            days.next_back().map_or(String::new(), |day| format!(", since {day}"))
        )),
    };
    let cells = vec![
        named(entry.get("code")),
        cell(conclusion.or(count)),
        String::new(),
        String::new(),
        entry.observed_on(),
        cell(before),
    ];
    Row { entry: at, cells }
}
