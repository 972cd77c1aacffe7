//! Completed vaccinations, newest first.

use super::super::record::Chart;
use super::super::shared::common::{cell, day, merge, named, newest};
use super::super::shared::{Row, Section};
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "immunizations",
    code: "11369-6",
    display: "History of Immunization note",
    title: "Immunizations",
    columns: &["Vaccine", "Date", "Dose", "Lot number", "Site", "Manufacturer"],
    nothing: "No information about immunizations is available.",
    rows,
};

const GIVEN: &[&str] = &["occurrenceDateTime"];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let given = chart
        .own("Immunization")
        .filter(|at| chart.entries[*at].is_one("status", &["completed"]));
    let given = newest(chart, given, GIVEN);
    // Two sources may record one injection. Records of the same vaccine on the same day become one row.
    let merged = merge(
        chart,
        &given,
        |entry| entry.get("vaccineCode"),
        |entry| Some(day(entry, GIVEN)),
    );
    merged.iter().map(|same| row(chart, same.first)).collect()
}

fn row(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let protocols = entry.get("protocolApplied").into_iter().flat_map(|list| list.items());
    let doses = protocols.filter_map(|protocol| {
        let dose = words::chosen(protocol, "doseNumber")?;
        Some(match words::chosen(protocol, "seriesDoses") {
            Some(series) => format!("{dose} of {series}"),
            None => dose,
        })
    });
    let cells = vec![
        named(entry.get("vaccineCode")),
        cell(words::chosen(entry.json, "occurrence")),
        cell(words::join(doses, ", ")),
        cell(words::text(entry.get("lotNumber"))),
        cell(words::concepts(entry.get("site"))),
        cell(super::super::shared::common::whom(
            chart,
            entry,
            entry.get("manufacturer"),
        )),
    ];
    Row { entry: at, cells }
}
