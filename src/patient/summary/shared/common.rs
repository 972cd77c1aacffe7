//! Code that several sections share: sorting, grouping, cells.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::super::record::{Chart, Entry};
use crate::columns::json::Value;
use crate::normalize::Rule;
use crate::patient::concept::{Groups, says_something};
use crate::patient::{follow, words};

/// Statuses of Observations that a summary shows.
pub(in crate::patient::summary) const OBSERVED: &[&str] = &["final", "amended", "corrected", "unknown"];

/// Sorts records by date, newest first. A record's date is the first of `dates` that it has. Records without a date
/// come last.
pub(in crate::patient::summary) fn newest(
    chart: &Chart<'_>,
    records: impl Iterator<Item = usize>,
    dates: &[&str],
) -> Vec<usize> {
    newest_by(chart, records, |entry| entry.when(dates).map(|when| when.start))
}

/// Sorts Observations or reports by their dates, newest first. Those without a date come last.
pub(in crate::patient::summary) fn newest_observed(
    chart: &Chart<'_>,
    records: impl Iterator<Item = usize>,
) -> Vec<usize> {
    newest_by(chart, records, |entry| entry.observed().map(|when| when.start))
}

fn newest_by<'t>(
    chart: &Chart<'t>,
    records: impl Iterator<Item = usize>,
    start: impl Fn(&Entry<'t>) -> Option<i64>,
) -> Vec<usize> {
    let mut records: Vec<usize> = records.collect();
    records.sort_by_cached_key(|at| Reverse(start(&chart.entries[*at])));
    records
}

/// Records that become one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::patient::summary) struct Same {
    /// The record that the row shows.
    pub(in crate::patient::summary) first: usize,
    /// The records of the row besides `first`, in the order in which `merge` got them.
    pub(in crate::patient::summary) others: Vec<usize>,
}

/// Groups records. Two records are in one group if their concepts share a code, directly or through the concepts of
/// other records, and if their `beside` values are equal. The groups are in the order of their first records.
pub(in crate::patient::summary) fn merge<'t>(
    chart: &Chart<'t>,
    records: &[usize],
    concept: impl Fn(&Entry<'t>) -> Option<Value<'t>>,
    beside: impl Fn(&Entry<'t>) -> Option<String>,
) -> Vec<Same> {
    let mut groups = Groups::default();
    for at in records {
        groups.add(concept(&chart.entries[*at]));
    }
    let mut places: FxHashMap<(usize, Option<String>), usize> = FxHashMap::default();
    let mut merged: Vec<Same> = Vec::new();
    for (place, at) in records.iter().enumerate() {
        let key = (groups.root(place), beside(&chart.entries[*at]));
        match places.get(&key) {
            Some(found) => merged[*found].others.push(*at),
            None => {
                places.insert(key, merged.len());
                merged.push(Same {
                    first: *at,
                    others: Vec::new(),
                });
            }
        }
    }
    merged
}

/// Whether the service generated a record from claims by this rule.
pub(in crate::patient::summary) fn is_made(entry: &Entry<'_>, rule: Rule) -> bool {
    let tags = entry.get("meta").and_then(|meta| meta.get("tag"));
    tags.into_iter().flat_map(|list| list.items()).any(|tag| {
        tag.get_str("code").as_deref() == Some(rule.name())
            && tag
                .get_str("system")
                .is_some_and(|system| system.ends_with("/GeneratedBy"))
    })
}

/// Returns readable text for a Reference in `entry`: its display or, without one, the name of its target.
pub(in crate::patient::summary) fn who<'t>(
    chart: &Chart<'t>,
    entry: &Entry<'t>,
    reference: Option<Value<'t>>,
) -> Option<String> {
    follow::who(chart, entry.json, reference?)
}

/// Returns readable text for a Reference in `entry`, or for a list of References, separated by commas.
pub(in crate::patient::summary) fn whom<'t>(
    chart: &Chart<'t>,
    entry: &Entry<'t>,
    references: Option<Value<'t>>,
) -> Option<String> {
    let references = references.into_iter().flat_map(|list| list.items().chain(Some(list)));
    words::join(
        references.filter_map(|reference| who(chart, entry, Some(reference))),
        ", ",
    )
}

/// Returns the text of the concept that a record is about, or "Unknown".
pub(in crate::patient::summary) fn named(concept: Option<Value<'_>>) -> String {
    concept
        .and_then(|value| words::concepts(Some(value)))
        .unwrap_or_else(|| "Unknown".to_owned())
}

/// Returns the text of a cell. Without a text, the cell is empty.
pub(in crate::patient::summary) fn cell(text: Option<String>) -> String {
    text.unwrap_or_default()
}

/// Returns the day of the first of these dates that a record has, or an empty string for an empty cell.
pub(in crate::patient::summary) fn day(entry: &Entry<'_>, names: &[&str]) -> String {
    entry.when(names).map_or_else(String::new, |when| when.day().to_owned())
}

/// Returns the code in the property `name` as readable text: `on-hold` becomes `on hold`. Without a code, the cell is
/// empty.
pub(in crate::patient::summary) fn status(entry: &Entry<'_>, name: &str) -> String {
    let text = entry.str(name).filter(|text| says_something(text));
    text.map_or_else(String::new, |text| text.replace('-', " "))
}
