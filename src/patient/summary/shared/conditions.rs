//! Code for the sections about Conditions: which are active, past, or generated from claims.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::record::{Chart, Entry};
use super::Row;
use super::common::{cell, day, is_made, merge, named};
use crate::normalize::Rule;
use crate::patient::concept::{Groups, codings, has_any};
use crate::patient::words;

/// The columns of Conditions.
pub(in crate::patient::summary) const COLUMNS: &[&str] = &[
    "Problem",
    "Severity",
    "Status",
    "Verification",
    "Since",
    "Until",
    "Recorded",
];

/// Categories of Conditions about functional status.
pub(in crate::patient::summary) const FUNCTIONAL: &[&str] =
    &["functional-status", "disability-status", "cognitive-status", "47420-5"];

const RECORDED: &[&str] = &["recordedDate", "onsetDateTime", "onsetPeriod"];
/// Twelve months, in microseconds.
const YEAR: i64 = 365 * 86_400 * 1_000_000;

/// The state of a Condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::patient::summary) enum State {
    /// Active, or without a status.
    Active,
    /// Inactive, resolved or in remission.
    Over,
    /// Refuted or entered in error.
    Wrong,
}

/// The state of a Condition.
pub(in crate::patient::summary) fn state(entry: &Entry<'_>) -> State {
    let clinical = entry.get("clinicalStatus");
    if has_any(entry.get("verificationStatus"), &["refuted", "entered-in-error"]) {
        State::Wrong
    } else if has_any(clinical, &["inactive", "resolved", "remission"]) {
        State::Over
    } else if has_any(clinical, &["active", "recurrence", "relapse"]) {
        State::Active
    } else if words::choice(entry.json, "abatement").is_some_and(|(_, value)| value.as_bool() != Some(false)) {
        State::Over
    } else {
        State::Active
    }
}

/// The problems in a state, the newest for each code. Conditions generated from claims come last, and only if no source
/// has their code.
pub(in crate::patient::summary) fn problems(chart: &Chart<'_>, wanted: State) -> Vec<usize> {
    let (made, recorded): (Vec<usize>, Vec<usize>) = chart
        .own("Condition")
        .filter(|at| state(&chart.entries[*at]) != State::Wrong)
        .filter(|at| !has_any(chart.entries[*at].get("category"), FUNCTIONAL))
        .partition(|at| is_made(&chart.entries[*at], Rule::Condition));
    let mut kept: Vec<usize> = recorded
        .iter()
        .copied()
        .filter(|at| state(&chart.entries[*at]) == wanted)
        .collect();
    kept.sort_by_cached_key(|at| newest_first(chart, *at));
    let mut problems: Vec<usize> = one_per_code(chart, &kept);
    let mut repeated: Vec<usize> = repeated(chart, made, &recorded);
    repeated.retain(|at| state(&chart.entries[*at]) == wanted);
    repeated.sort_by_cached_key(|at| newest_first(chart, *at));
    problems.extend(one_per_code(chart, &repeated));
    problems
}

/// One Condition per code, in the order of the list.
pub(in crate::patient::summary) fn one_per_code(chart: &Chart<'_>, records: &[usize]) -> Vec<usize> {
    let merged = merge(chart, records, |entry| entry.get("code"), |_| None);
    merged.into_iter().map(|same| same.first).collect()
}

/// The sort key that puts the newest Condition first.
pub(in crate::patient::summary) fn newest_first(chart: &Chart<'_>, at: usize) -> Reverse<Option<i64>> {
    let recorded = chart.entries[at].when(RECORDED).map(|when| when.start);
    Reverse(recorded.or_else(|| visit(chart, at).map(|(start, _)| start)))
}

/// The diagnoses from claims that count as problems. They are confirmed diseases with two encounters within 12 months.
fn repeated(chart: &Chart<'_>, made: Vec<usize>, recorded: &[usize]) -> Vec<usize> {
    let of_disease = made.into_iter().filter(|at| {
        let entry = &chart.entries[*at];
        has_any(entry.get("verificationStatus"), &["confirmed"]) && !is_circumstance(entry)
    });
    let made: Vec<usize> = of_disease.collect();
    let mut groups = Groups::default();
    for at in made.iter().chain(recorded) {
        groups.add(chart.entries[*at].get("code"));
    }
    let known: FxHashSet<usize> = (0..recorded.len())
        .map(|place| groups.root(made.len() + place))
        .collect();
    let mut visits: FxHashMap<usize, Vec<(i64, String)>> = FxHashMap::default();
    for (place, at) in made.iter().enumerate() {
        visits.entry(groups.root(place)).or_default().extend(visit(chart, *at));
    }
    visits.retain(|group, visits| {
        visits.sort_by(|one, other| (&one.1, one.0).cmp(&(&other.1, other.0)));
        visits.dedup_by(|one, other| one.1 == other.1);
        visits.sort();
        !known.contains(group) && visits.windows(2).any(|pair| pair[1].0 - pair[0].0 <= YEAR)
    });
    let places = (0..made.len()).filter(|place| visits.contains_key(&groups.root(*place)));
    places.map(|place| made[place]).collect()
}

/// The day and the encounter of a diagnosis.
fn visit(chart: &Chart<'_>, at: usize) -> Option<(i64, String)> {
    let entry = &chart.entries[at];
    let reference = entry.get("encounter")?.get_str("reference")?.into_owned();
    let encounter = chart
        .find(&reference)
        .and_then(|at| chart.entries[at].when(&["period"]));
    let when = encounter.or_else(|| entry.when(RECORDED))?;
    Some((when.start, reference))
}

/// Whether a code is not a disease. These are ICD-10-CM's chapters Z (contacts with health services) and V to Y (causes
/// of injuries), and V and E of ICD-9-CM.
fn is_circumstance(entry: &Entry<'_>) -> bool {
    entry.get("code").into_iter().flat_map(codings).any(|coding| {
        let system = coding.get_str("system").unwrap_or_default();
        let code = coding.get_str("code").unwrap_or_default();
        let chapters: &[char] = match system.as_ref() {
            "http://hl7.org/fhir/sid/icd-10-cm" | "http://hl7.org/fhir/sid/icd-10" => &['V', 'W', 'X', 'Y', 'Z'],
            "http://hl7.org/fhir/sid/icd-9-cm" => &['V', 'E'],
            _ => &[],
        };
        code.starts_with(chapters)
    })
}

/// The row of a Condition.
pub(in crate::patient::summary) fn row(chart: &Chart<'_>, at: usize) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        named(entry.get("code")),
        cell(words::concepts(entry.get("severity"))),
        cell(words::concepts(entry.get("clinicalStatus"))),
        cell(words::concepts(entry.get("verificationStatus"))),
        cell(words::chosen(entry.json, "onset")),
        cell(words::chosen(entry.json, "abatement")),
        day(entry, &["recordedDate"]),
    ];
    Row { entry: at, cells }
}
