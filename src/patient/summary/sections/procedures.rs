//! Procedures, newest first. Those that were not done or were entered in error are left out.

use super::super::record::Chart;
use super::super::shared::common::{cell, day, is_made, merge, named, newest, status, whom};
use super::super::shared::{Row, Section};
use crate::normalize::Rule;
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "procedures",
    code: "47519-4",
    display: "History of Procedures Document",
    title: "History of Procedures",
    columns: &["Procedure", "Date", "Body site", "Status", "Performer"],
    nothing: "No information about procedures is available.",
    rows,
};

const PERFORMED: &[&str] = &["performedDateTime", "performedPeriod"];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let done = chart.own("Procedure").filter(|at| {
        let entry = &chart.entries[*at];
        !entry.is_one("status", &["not-done", "entered-in-error"])
    });
    let mut done = newest(chart, done, PERFORMED);
    // Put the sources' own records before those generated from claims. So if there are both for a procedure and day,
    // `merge` shows the source's own record.
    done.sort_by_key(|at| is_made(&chart.entries[*at], Rule::Procedure));
    let merged = merge(
        chart,
        &done,
        |entry| entry.get("code"),
        |entry| Some(day(entry, PERFORMED)),
    );
    let shown = merged.iter().map(|same| same.first);
    newest(chart, shown, PERFORMED)
        .into_iter()
        .map(|at| row(chart, at))
        .collect()
}

fn row(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let performers = entry.get("performer").into_iter().flat_map(|list| list.items());
    let performers = performers.filter_map(|performer| whom(chart, entry, performer.get("actor")));
    let cells = vec![
        named(entry.get("code")),
        cell(words::chosen(entry.json, "performed")),
        cell(words::concepts(entry.get("bodySite"))),
        status(entry, "status"),
        cell(words::join(performers, ", ")),
    ];
    Row { entry: at, cells }
}
