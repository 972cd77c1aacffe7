//! Quantity parameters against Quantity and what specializes it, Money, and Ranges of quantities.

use super::number::{Limits, only_number};
use super::{mark_items, only_text, type_name};
use crate::fhirpath::{Collection, Items, Typed};
use crate::search::value::QuantityValue;

pub(super) fn mark(value: &QuantityValue, part: &Typed, rows: &mut [bool]) {
    match type_name(part) {
        "Range" => {
            let limits = Limits::of(&part.items);
            let units = [Units::of_all(&limits.lows), Units::of_all(&limits.highs)];
            mark_items(part, rows, |_, range| {
                let bounds = limits
                    .lows
                    .range(range)
                    .map(|at| (0, at))
                    .chain(limits.highs.range(range).map(|at| (1, at)));
                let mut units = bounds.map(|(side, at)| units[side].match_unit(value, at));
                units.next() == Some(true) && units.all(|same| same) && limits.matches(&value.number, range)
            });
        }
        "Money" => {
            let (values, currencies) = (part.items.child("value"), part.items.child("currency"));
            mark_items(part, rows, |_, item| {
                only_number(&values, item).is_some_and(|number| value.number.matches(number))
                    && value.system.as_deref().is_none_or(|system| system == CURRENCIES)
                    && value
                        .code
                        .as_deref()
                        .is_none_or(|code| only_text(&currencies, item) == Some(code))
            });
        }
        _ => {
            let (values, comparators) = (part.items.child("value"), part.items.child("comparator"));
            let units = Units::of(&part.items);
            mark_items(part, rows, |_, item| {
                only_number(&values, item)
                    .is_some_and(|number| value.number.matches_quantity(number, only_text(&comparators, item)))
                    && units.match_unit(value, item)
            });
        }
    }
}

/// The code system of `Money.currency` (ISO 4217).
const CURRENCIES: &str = "urn:iso:std:iso:4217";

/// The units of quantities.
struct Units {
    systems: Collection,
    codes: Collection,
    units: Collection,
}

impl Units {
    fn of(quantities: &Items) -> Units {
        Units {
            systems: quantities.child("system"),
            codes: quantities.child("code"),
            units: quantities.child("unit"),
        }
    }

    fn of_all(quantities: &Collection) -> Units {
        match quantities.single() {
            Some(items) => Units::of(items),
            None => {
                let none = Collection::empty(quantities.len());
                Units {
                    systems: none.clone(),
                    codes: none.clone(),
                    units: none,
                }
            }
        }
    }

    fn match_unit(&self, value: &QuantityValue, item: usize) -> bool {
        match (&value.system, &value.code) {
            (None, None) => true,
            (None, Some(code)) => {
                only_text(&self.codes, item) == Some(code) || only_text(&self.units, item) == Some(code)
            }
            (Some(system), code) => {
                only_text(&self.systems, item) == Some(system)
                    && code
                        .as_deref()
                        .is_none_or(|code| only_text(&self.codes, item) == Some(code))
            }
        }
    }
}
