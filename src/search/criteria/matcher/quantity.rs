//! Compares the values of quantity parameters with Quantity and its specializations, Money, Ranges of quantities and
//! sampled data.

use super::items::{mark_items, only_text, type_name};
use super::number::{Limits, only_number};
use super::sampled::Samples;
use crate::fhirpath::{Collection, Items, Typed};
use crate::search::parameters::values::{Numbers, Quantities, Unit};

pub(super) fn mark(value: &impl Quantities, part: &Typed, rows: &mut [bool]) {
    match type_name(part) {
        "Range" => {
            let limits = Limits::of(&part.items);
            let units = [Units::of_all(&limits.lows), Units::of_all(&limits.highs)];
            mark_items(part, rows, |_, range| {
                let low = limits.lows.range(range).next().map(|at| units[0].at(at));
                let high = limits.highs.range(range).next().map(|at| units[1].at(at));
                value.any(|| [low, high], |number| limits.matches(number, range))
            });
        }
        "SampledData" => {
            let samples = Samples::of(&part.items);
            let units = Units::of_all(&samples.origins);
            mark_items(part, rows, |_, item| {
                let origin = samples.origins.range(item).next().map(|at| units.at(at));
                let extent = samples.extent(item);
                extent.is_some_and(|extent| value.any(|| [origin, None], |number| number.matches_extent(extent)))
            });
        }
        "Money" => {
            let (values, currencies) = (part.items.child("value"), part.items.child("currency"));
            mark_items(part, rows, |_, item| {
                let unit = || Unit {
                    system: Some(CURRENCIES),
                    code: only_text(&currencies, item),
                    unit: None,
                };
                let units = || [Some(unit()), None];
                only_number(&values, item)
                    .is_some_and(|stored| value.any(units, |number| number.matches_quantity(stored, None)))
            });
        }
        _ => {
            let (values, comparators) = (part.items.child("value"), part.items.child("comparator"));
            let units = Units::of(&part.items);
            mark_items(part, rows, |_, item| {
                only_number(&values, item).is_some_and(|stored| {
                    let comparator = only_text(&comparators, item);
                    let units = || [Some(units.at(item)), None];
                    value.any(units, |number| number.matches_quantity(stored, comparator))
                })
            });
        }
    }
}

/// The code system of `Money.currency` (ISO 4217).
const CURRENCIES: &str = "urn:iso:std:iso:4217";

/// The units of some quantities, as columns.
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

    fn at(&self, item: usize) -> Unit<'_> {
        Unit {
            system: only_text(&self.systems, item),
            code: only_text(&self.codes, item),
            unit: only_text(&self.units, item),
        }
    }
}
