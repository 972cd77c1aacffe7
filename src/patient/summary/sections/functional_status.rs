//! Functional status: Conditions and Observations with a category of functional status, and ClinicalImpressions.

use super::super::record::Chart;
use super::super::shared::common::{OBSERVED, cell, day, merge, named, newest, newest_observed, status};
use super::super::shared::conditions::{FUNCTIONAL, State, newest_first, one_per_code, state};
use super::super::shared::observations::value;
use super::super::shared::{Row, Section};
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "functionalstatus",
    code: "47420-5",
    display: "Functional status assessment note",
    title: "Functional Status",
    columns: &["Finding", "Value", "Status", "Date"],
    nothing: "No information about functional status is available.",
    rows,
};

const ASSESSED: &[&str] = &["effectiveDateTime", "effectivePeriod", "date"];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let is_functional = |at: &usize| chart.entries[*at].has_category(FUNCTIONAL);
    let disabilities = chart.own("Condition").filter(is_functional);
    let mut disabilities: Vec<usize> = disabilities
        .filter(|at| state(&chart.entries[*at]) == State::Active)
        .collect();
    disabilities.sort_by_cached_key(|at| newest_first(chart, *at));
    let mut rows: Vec<Row> = one_per_code(chart, &disabilities)
        .into_iter()
        .map(|at| disability(chart, at))
        .collect();

    let impressions = chart.own("ClinicalImpression");
    let impressions = impressions.filter(|at| !chart.entries[*at].is_one("status", &["entered-in-error", "cancelled"]));
    rows.extend(
        newest(chart, impressions, ASSESSED)
            .into_iter()
            .map(|at| impression(chart, at)),
    );

    let findings = chart.own("Observation").filter(is_functional);
    let findings = findings.filter(|at| chart.entries[*at].is_one("status", OBSERVED));
    let findings = newest_observed(chart, findings);
    let findings = merge(chart, &findings, |entry| entry.get("code"), |_| None);
    rows.extend(findings.iter().map(|same| finding(chart, same.first)));
    rows
}

fn disability(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        named(entry.get("code")),
        cell(words::concepts(entry.get("severity"))),
        cell(words::concepts(entry.get("clinicalStatus"))),
        cell(words::chosen(entry.json, "onset").or_else(|| Some(day(entry, &["recordedDate"])))),
    ];
    Row { entry: at, cells }
}

fn impression(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let name = words::concepts(entry.get("code")).or_else(|| words::text(entry.get("description")));
    let findings = entry.get("finding").into_iter().flat_map(|list| list.items());
    let findings = findings.filter_map(|finding| words::concepts(finding.get("itemCodeableConcept")));
    let cells = vec![
        name.unwrap_or_else(|| "Clinical impression".to_owned()),
        cell(words::text(entry.get("summary")).or_else(|| words::join(findings, ", "))),
        status(entry, "status"),
        day(entry, ASSESSED),
    ];
    Row { entry: at, cells }
}

fn finding(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        named(entry.get("code")),
        cell(value(chart, entry.json)),
        status(entry, "status"),
        entry.observed_on(),
    ];
    Row { entry: at, cells }
}
