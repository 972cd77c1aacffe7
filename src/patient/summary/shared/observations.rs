//! Code for the sections about Observations: the newest for each code, its value as text, and earlier values.

use rustc_hash::FxHashSet;

use super::super::record::{Chart, Entry};
use super::Row;
use super::common::{OBSERVED, cell, merge, named, newest_observed};
use crate::columns::json::Value;
use crate::patient::concept::codes;
use crate::patient::words;

/// The columns of the sections about Observations.
pub(in crate::patient::summary) const COLUMNS: &[&str] = &[
    "Test",
    "Value",
    "Interpretation",
    "Reference range",
    "Date",
    "Earlier values",
];

/// The maximum number of earlier values that a row shows. If there are more, the row says how many more.
const EARLIER: usize = 5;
const SYSTOLIC: &str = "8480-6";
const DIASTOLIC: &str = "8462-4";

/// Builds the rows of the wanted Observations: the newest for each code, with earlier ones.
pub(in crate::patient::summary) fn rows(chart: &Chart<'_>, is_wanted: impl Fn(&Entry<'_>) -> bool) -> Vec<Row> {
    let wanted = chart.own("Observation").filter(|at| {
        let entry = &chart.entries[*at];
        entry.is_one("status", OBSERVED) && is_wanted(entry)
    });
    let wanted = newest_observed(chart, wanted);
    let merged = merge(chart, &wanted, |entry| entry.get("code"), |_| None);
    merged.iter().map(|same| row(chart, same.first, &same.others)).collect()
}

/// Builds the row of an Observation, with the values of earlier ones.
pub(in crate::patient::summary) fn row(chart: &Chart<'_>, at: usize, earlier: &[usize]) -> Row {
    let entry = &chart.entries[at];
    let cells = vec![
        named(entry.get("code")),
        cell(value(chart, entry.json)),
        cell(words::concepts(entry.get("interpretation"))),
        cell(reference_range(entry)),
        entry.observed_on(),
        cell(history(chart, at, earlier)),
    ];
    Row { entry: at, cells }
}

fn reference_range(entry: &Entry<'_>) -> Option<String> {
    let ranges = entry.get("referenceRange").into_iter().flat_map(|list| list.items());
    words::join(
        ranges.filter_map(|range| words::text(range.get("text")).or_else(|| words::range(range))),
        "; ",
    )
}

/// Returns the values of `earlier` with their days, without duplicates and without the value that the row itself shows.
/// After `EARLIER` values, only the number of further values follows. `None` if there are no values.
fn history(chart: &Chart<'_>, at: usize, earlier: &[usize]) -> Option<String> {
    let dated = |at: usize| {
        let entry = &chart.entries[at];
        let value = value(chart, entry.json)?;
        Some(match entry.observed_on() {
            day if day.is_empty() => value,
            day => format!("{value} ({day})"),
        })
    };
    let mut said: FxHashSet<String> = dated(at).into_iter().collect();
    let mut values: Vec<String> = Vec::new();
    let mut more = 0;
    for value in earlier.iter().filter_map(|at| dated(*at)) {
        if said.contains(&value) {
            continue;
        }
        if values.len() < EARLIER {
            values.push(value.clone());
        } else {
            more += 1;
        }
        said.insert(value);
    }
    if more > 0 {
        let since = earlier
            .iter()
            .rev()
            .map(|at| chart.entries[*at].observed_on())
            .find(|day| !day.is_empty());
        values.push(since.map_or(format!("{more} more"), |since| format!("{more} more since {since}")));
    }
    (!values.is_empty()).then(|| values.join("; "))
}

/// Returns the value of an Observation or of a component as text, with its components and members. If it has no value,
/// component or member, returns the reason why the value is absent.
pub(in crate::patient::summary) fn value(chart: &Chart<'_>, observation: Value<'_>) -> Option<String> {
    let own = match words::choice(observation, "value") {
        Some(("SampledData", _)) => Some("a series of measurements".to_owned()),
        Some((type_name, value)) => words::typed(type_name, value),
        None => None,
    };
    let parts = components(chart, observation);
    let members = observation.get("hasMember").into_iter().flat_map(|list| list.items());
    let members = members.filter_map(|member| {
        let at = chart.find(&member.get_str("reference")?)?;
        part(chart, chart.entries[at].json)
    });
    let parts = parts.into_iter().chain(members);
    words::join(own.into_iter().chain(parts), "; ").or_else(|| words::concepts(observation.get("dataAbsentReason")))
}

fn part(chart: &Chart<'_>, component: Value<'_>) -> Option<String> {
    let name = words::concepts(component.get("code"))?;
    // Do not follow the members of a member, because they may refer back to the Observation.
    let value =
        words::chosen(component, "value").or_else(|| words::join(components(chart, component).into_iter(), ", "));
    Some(format!("{name} {}", value?))
}

/// Returns the components of a panel as texts. Systolic and diastolic blood pressure become one text: `120/80 mmHg`.
fn components(chart: &Chart<'_>, observation: Value<'_>) -> Vec<String> {
    let all: Vec<Value<'_>> = observation
        .get("component")
        .into_iter()
        .flat_map(|list| list.items())
        .collect();
    let find = |code: &str| {
        all.iter()
            .copied()
            .find(|each| codes(each.get("code")).any(|own| own == code))
    };
    let pressure = find(SYSTOLIC).zip(find(DIASTOLIC)).and_then(|(systolic, diastolic)| {
        let (systolic, diastolic) = (systolic.get("valueQuantity")?, diastolic.get("valueQuantity")?);
        let upper = words::plain(systolic.get("value")?.number()?);
        (words::unit(systolic) == words::unit(diastolic))
            .then(|| format!("{upper}/{}", words::quantity(diastolic).unwrap_or_default()))
    });
    let is_pressure = |component: Value<'_>| {
        pressure.is_some() && codes(component.get("code")).any(|code| code == SYSTOLIC || code == DIASTOLIC)
    };
    let others = all.iter().copied().filter(|component| !is_pressure(*component));
    let others: Vec<String> = others.filter_map(|component| part(chart, component)).collect();
    pressure.clone().into_iter().chain(others).collect()
}
