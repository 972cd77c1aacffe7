//! Compares the values of number parameters with decimals, integers and Ranges.

use super::items::{mark_items, type_name};
use crate::fhir::storage::NUMBER_SCALE;
use crate::fhirpath::{Collection, Items, Typed, Values};
use crate::search::parameters::values::{Extent, NumberValue, Numbers, Stored};

pub(in crate::search) fn mark(value: &impl Numbers, part: &Typed, rows: &mut [bool]) {
    if type_name(part) == "Range" {
        let limits = Limits::of(&part.items);
        mark_items(part, rows, |_, item| limits.matches(value, item));
        return;
    }
    mark_items(part, rows, |items, item| {
        stored(items, item).is_some_and(|number| value.matches_quantity(number, None))
    });
}

/// Sets `rows[row]` for each row with a number whose written digits stand for a range that includes the value of the
/// search.
pub(super) fn mark_imprecise(value: &NumberValue, part: &Typed, rows: &mut [bool]) {
    mark_items(part, rows, |items, item| {
        stored(items, item).is_some_and(|number| value.is_within(number))
    });
}

/// Returns an item as a number. Returns `None` if it is not a number, or has no value.
pub(in crate::search) fn stored(items: &Items, item: usize) -> Option<Stored<'_>> {
    match items.values() {
        Values::Integer(_) => {
            let scaled = i128::from(items.integer(item)?) * 10i128.pow(NUMBER_SCALE as u32);
            Some(Stored {
                scaled: Some(scaled),
                text: None,
            })
        }
        Values::Decimal { .. } => {
            let (scaled, text) = (items.number(item), items.text(item));
            (scaled.is_some() || text.is_some()).then_some(Stored { scaled, text })
        }
        _ => None,
    }
}

/// Returns the number of an element that occurs at most once per row of `elements`.
pub(in crate::search) fn only_number(elements: &Collection, row: usize) -> Option<Stored<'_>> {
    let at = elements.range(row).next()?;
    let (items, item) = elements.item(at);
    stored(items, item)
}

/// The lower and upper bounds of Ranges.
pub(in crate::search) struct Limits {
    pub(super) lows: Collection,
    pub(super) highs: Collection,
    low_values: Collection,
    high_values: Collection,
}

impl Limits {
    pub(in crate::search) fn of(ranges: &Items) -> Limits {
        let (lows, highs) = (ranges.child("low"), ranges.child("high"));
        let (low_values, high_values) = (values(&lows), values(&highs));
        Limits {
            lows,
            highs,
            low_values,
            high_values,
        }
    }

    pub(in crate::search) fn matches(&self, value: &impl Numbers, range: usize) -> bool {
        let low = self
            .lows
            .range(range)
            .next()
            .and_then(|low| only_number(&self.low_values, low));
        let high = self
            .highs
            .range(range)
            .next()
            .and_then(|high| only_number(&self.high_values, high));
        let strict = false;
        (low.is_some() || high.is_some()) && value.matches_extent(Extent { low, high, strict })
    }

    /// Returns one bound of a Range. With `upper`, this is the upper bound, or the lower one if there is no upper one.
    /// Without `upper`, it is the lower bound, or the upper one if there is no lower one.
    pub(in crate::search) fn bound(&self, range: usize, upper: bool) -> Option<Stored<'_>> {
        let low = self
            .lows
            .range(range)
            .next()
            .and_then(|low| only_number(&self.low_values, low));
        let high = self
            .highs
            .range(range)
            .next()
            .and_then(|high| only_number(&self.high_values, high));
        if upper { high.or(low) } else { low.or(high) }
    }
}

/// Returns the values of quantities.
pub(super) fn values(quantities: &Collection) -> Collection {
    quantities
        .single()
        .map_or_else(|| Collection::empty(quantities.len()), |items| items.child("value"))
}
