//! Compares the values of date parameters with dates, instants, Periods and the outer limits of Timings.

use super::items::{mark_items, type_name};
use crate::fhirpath::{Collection, Items, Typed, Values};
use crate::search::parameters::values::{DateSet, DateValue, Interval};

pub(super) fn mark(value: &DateValue, part: &Typed, rows: &mut [bool]) {
    let interval = interval(&part.items, type_name(part));
    mark_items(part, rows, |_, item| {
        interval(item).is_some_and(|target| value.matches(target))
    });
}

/// Sets `rows[row]` for each row with a value that matches one of many dates. Each item is compared with all of the
/// dates at once.
pub(super) fn mark_any(set: &DateSet, part: &Typed, rows: &mut [bool]) {
    let interval = interval(&part.items, type_name(part));
    mark_items(part, rows, |_, item| {
        interval(item).is_some_and(|target| set.matches(target))
    });
}

/// Sets `rows[row]` for each row with a value whose interval includes all of `wanted`.
pub(super) fn mark_enclosing(wanted: Interval<i64>, part: &Typed, rows: &mut [bool]) {
    let interval = interval(&part.items, type_name(part));
    mark_items(part, rows, |_, item| {
        interval(item).is_some_and(|target| target.contains(wanted))
    });
}

/// Returns a function that yields the interval of an item. `type_name` is the type of the items. A Period without a
/// start or without an end has no bound there. A Period with neither has no interval.
pub(in crate::search) fn interval<'a>(
    items: &'a Items,
    type_name: &str,
) -> Box<dyn Fn(usize) -> Option<Interval<i64>> + 'a> {
    match type_name {
        "Period" => {
            let (starts, ends) = (items.child("start"), items.child("end"));
            Box::new(move |item| open(earliest(&starts, item), latest(&ends, item)))
        }
        "Timing" => {
            let events = items.child("event");
            let bounds = flat(flat(Some(items.clone()), "repeat"), "boundsPeriod");
            let limits = bounds.map(|periods| (periods.child("start"), periods.child("end")));
            let (repeats, periods) = nested(items);
            Box::new(move |item| {
                let (mut start, mut end) = (earliest(&events, item), latest(&events, item));
                let mut unbounded = (false, false);
                for repeat in repeats.range(item) {
                    for period in periods.range(repeat) {
                        let Some((starts, ends)) = &limits else { continue };
                        let (first, last) = (earliest(starts, period), latest(ends, period));
                        unbounded = (unbounded.0 || first.is_none(), unbounded.1 || last.is_none());
                        start = start.into_iter().chain(first).min();
                        end = end.into_iter().chain(last).max();
                    }
                }
                open(start.filter(|_| !unbounded.0), end.filter(|_| !unbounded.1))
            })
        }
        _ => match items.values() {
            Values::Temporal { .. } => Box::new(|item| items.bounds(item).map(|(start, end)| Interval { start, end })),
            _ => Box::new(|_| None),
        },
    }
}

fn open(start: Option<i64>, end: Option<i64>) -> Option<Interval<i64>> {
    (start.is_some() || end.is_some()).then(|| Interval {
        start: start.unwrap_or(i64::MIN),
        end: end.unwrap_or(i64::MAX),
    })
}

/// Returns the `repeat` of each Timing, and the `boundsPeriod` of each `repeat`.
fn nested(timings: &Items) -> (Collection, Collection) {
    let repeats = timings.child("repeat");
    let periods = match repeats.single() {
        Some(items) => items.child("boundsPeriod"),
        None => Collection::empty(repeats.len()),
    };
    (repeats, periods)
}

fn flat(items: Option<Items>, name: &str) -> Option<Items> {
    items?.child(name).single().cloned()
}

fn earliest(times: &Collection, row: usize) -> Option<i64> {
    times
        .range(row)
        .filter_map(|at| bound(times, at, |start, _| start))
        .min()
}

fn latest(times: &Collection, row: usize) -> Option<i64> {
    times.range(row).filter_map(|at| bound(times, at, |_, end| end)).max()
}

type Bound<'a> = Option<&'a arrow::array::Int64Array>;

fn bound(times: &Collection, at: usize, pick: for<'a> fn(Bound<'a>, Bound<'a>) -> Bound<'a>) -> Option<i64> {
    use arrow::array::Array;
    let (items, item) = times.item(at);
    let Values::Temporal { start, end, .. } = items.values() else {
        return None;
    };
    let array = pick(start.as_ref(), end.as_ref())?;
    let slot = items.slot(item);
    array.is_valid(slot).then(|| array.value(slot))
}
