//! Code for the sections about Conditions: which Conditions are active, past, or generated from claims.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::record::{Chart, Entry};
use super::Row;
use super::common::{cell, day, is_made, merge, named};
use crate::normalize::Rule;
use crate::patient::concept::{Groups, codings, has_any};
use crate::patient::words;

/// The columns of the sections about Conditions.
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
/// 365 days, in microseconds.
const YEAR: i64 = 365 * 86_400 * 1_000_000;

/// The state of a Condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::patient::summary) enum State {
    /// The clinical status is active, recurrence or relapse, or there is neither a clinical status nor an abatement.
    Active,
    /// The clinical status is inactive, resolved or remission, or there is an abatement and no clinical status.
    Over,
    /// Refuted or entered in error.
    Wrong,
}

/// Returns the state of a Condition by its verification status, its clinical status and its abatement.
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

/// Returns the newest Condition for each code, among those whose state is `wanted`. Conditions that sources recorded
/// come first. After them come those Conditions generated from claims that `repeated` selects.
pub(in crate::patient::summary) fn problems(chart: &Chart<'_>, wanted: State) -> Vec<usize> {
    let (made, recorded): (Vec<usize>, Vec<usize>) = chart
        .own("Condition")
        .filter(|at| state(&chart.entries[*at]) != State::Wrong)
        .filter(|at| !chart.entries[*at].has_category(FUNCTIONAL))
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

/// Returns the first Condition for each code, in the order of `records`.
pub(in crate::patient::summary) fn one_per_code(chart: &Chart<'_>, records: &[usize]) -> Vec<usize> {
    let merged = merge(chart, records, |entry| entry.get("code"), |_| None);
    merged.into_iter().map(|same| same.first).collect()
}

/// Returns the sort key that puts the newest Condition first. A Condition without a date has the date of its encounter.
pub(in crate::patient::summary) fn newest_first(chart: &Chart<'_>, at: usize) -> Reverse<Option<i64>> {
    let recorded = chart.entries[at].when(RECORDED).map(|when| when.start);
    Reverse(recorded.or_else(|| visit(chart, at).map(|(start, _)| start)))
}

/// Returns the Conditions of `made` that count as problems. `made` has the Conditions that were generated from claims.
/// Such a Condition must be a confirmed disease. Its code must have two encounters at most 365 days apart, and must not
/// be the code of a Condition in `recorded`.
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

/// Returns the start of a diagnosis's encounter in microseconds since 1970, and the reference to the encounter. If the
/// start of the encounter is unknown, returns the date of the diagnosis instead. `None` if the diagnosis refers to no
/// encounter, or if both dates are unknown.
fn visit(chart: &Chart<'_>, at: usize) -> Option<(i64, String)> {
    let entry = &chart.entries[at];
    let reference = entry.get("encounter")?.get_str("reference")?.into_owned();
    let encounter = chart
        .find(&reference)
        .and_then(|at| chart.entries[at].when(&["period"]));
    let when = encounter.or_else(|| entry.when(RECORDED))?;
    Some((when.start, reference))
}

/// Whether a Condition's code stands for something other than a disease: chapters V to Y (causes of injuries) and Z
/// (contacts with health services) of ICD-10 and ICD-10-CM, and codes with V and E of ICD-9-CM.
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

/// Builds the row of a Condition.
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
