//! Allergies and intolerances, one row per code. Those that are inactive, resolved, refuted or entered in error are
//! left out.

use std::cmp::Reverse;

use super::super::record::{Chart, Entry};
use super::super::shared::common::{cell, day, merge, named, status};
use super::super::shared::{Row, Section};
use crate::patient::concept::has_any;
use crate::patient::words;

pub(in crate::patient::summary) static SECTION: Section = Section {
    alias: "allergies",
    code: "48765-2",
    display: "Allergies and adverse reactions Document",
    title: "Allergies and Intolerances",
    columns: &[
        "Substance",
        "Category",
        "Criticality",
        "Reactions",
        "Verification",
        "Since",
        "Recorded",
    ],
    nothing: "No information about allergies and intolerances is available.",
    rows,
};

/// SNOMED CT's "No known allergy". A record with this code is shown only if there is no other record to show.
const NO_ALLERGY: &[&str] = &["716186003"];

fn rows(chart: &Chart<'_>) -> Vec<Row> {
    let mut kept: Vec<usize> = chart
        .own("AllergyIntolerance")
        .filter(|at| is_relevant(&chart.entries[*at]))
        .collect();
    kept.sort_by_cached_key(|at| weight(&chart.entries[*at]));
    let mut merged = merge(chart, &kept, |entry| entry.get("code"), |_| None);
    let is_none = |at: usize| has_any(chart.entries[at].get("code"), NO_ALLERGY);
    if merged.iter().any(|same| !is_none(same.first)) {
        merged.retain(|same| !is_none(same.first));
    }
    merged.iter().map(|same| row(chart, same.first)).collect()
}

fn is_relevant(entry: &Entry<'_>) -> bool {
    !has_any(entry.get("clinicalStatus"), &["inactive", "resolved"])
        && !has_any(entry.get("verificationStatus"), &["entered-in-error", "refuted"])
}

/// Returns the sort key that puts the most important allergies first: those with high criticality, then those with more
/// reactions, then the newer ones.
fn weight(entry: &Entry<'_>) -> (bool, Reverse<usize>, Reverse<Option<i64>>) {
    let reactions = entry.get("reaction").map_or(0, |list| list.items().count());
    let recorded = entry.when(&["recordedDate", "lastOccurrence", "onsetDateTime"]);
    (
        !entry.is_one("criticality", &["high"]),
        Reverse(reactions),
        Reverse(recorded.map(|when| when.start)),
    )
}

fn row(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let reactions = entry.get("reaction").into_iter().flat_map(|list| list.items());
    let reactions = reactions.filter_map(|reaction| {
        let manifestation = words::concepts(reaction.get("manifestation"))?;
        Some(match words::text(reaction.get("severity")) {
            Some(severity) => format!("{manifestation} ({severity})"),
            None => manifestation,
        })
    });
    let categories = entry.get("category").into_iter().flat_map(|list| list.items());
    let categories = categories.filter_map(|category| words::text(Some(category)));
    let cells = vec![
        named(entry.get("code")),
        cell(words::join(categories, ", ")),
        status(entry, "criticality"),
        cell(words::join(reactions, "; ")),
        cell(words::concepts(entry.get("verificationStatus"))),
        cell(words::chosen(entry.json, "onset")),
        day(entry, &["recordedDate"]),
    ];
    Row { entry: at, cells }
}
