//! Sets of many numbers or quantities. Each number of a resource is compared with all of them at once.

use super::hashed::SentMap;
use super::number::Numbers;
use super::spans::Spans;
use super::{Extent, NumberValue, Prefix, QuantityValue, Stored};

/// A set of many numbers with their prefixes.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberSet {
    all: Vec<NumberValue>,
    /// The numbers that, times 10^18, are not integers of at most 38 digits. They are compared one by one.
    beyond: Vec<NumberValue>,
    equal: Spans<i128>,
    approximate: Spans<i128>,
    /// For `ne`: the maximum lower bound and the minimum upper bound of the ranges. A number outside these bounds is
    /// outside at least one range, so it matches.
    unequal: Option<(i128, i128)>,
    /// For `gt`, the minimum of the numbers. The next fields have the minimum for `ge` and `sa`, and the maximum for
    /// `lt`, `le` and `eb`. A number in a resource that matches any number of a prefix also matches this bound.
    greater: Option<i128>,
    greater_or_equal: Option<i128>,
    lies_above: Option<i128>,
    less: Option<i128>,
    less_or_equal: Option<i128>,
    lies_below: Option<i128>,
}

impl NumberSet {
    /// Creates a set of these numbers.
    pub(crate) fn of(all: Vec<NumberValue>) -> NumberSet {
        let (exact, beyond): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|value| value.scaled.is_some());
        let of = |prefix: Prefix| exact.iter().filter(move |value| value.prefix == prefix);
        let ranges = |prefix| Spans::of(of(prefix).map(|value| value.range_scaled).collect());
        let min = |prefix| of(prefix).filter_map(|value| value.scaled).min();
        let max = |prefix| of(prefix).filter_map(|value| value.scaled).max();
        let outside = of(Prefix::Ne).map(|value| value.range_scaled);
        NumberSet {
            equal: ranges(Prefix::Eq),
            approximate: ranges(Prefix::Ap),
            unequal: outside.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1))),
            greater: min(Prefix::Gt),
            greater_or_equal: min(Prefix::Ge),
            lies_above: min(Prefix::Sa),
            less: max(Prefix::Lt),
            less_or_equal: max(Prefix::Le),
            lies_below: max(Prefix::Eb),
            beyond,
            all,
        }
    }

    /// Returns the numbers of the set.
    pub(in crate::search) fn values(&self) -> &[NumberValue] {
        &self.all
    }

    /// Whether the range from `low` to `high`, times 10^18, matches one of the values. Ignores values with the prefix
    /// `ap`, and the values in `beyond`. The caller compares these. `None` means that there is no bound.
    fn match_scaled(&self, low: Option<i128>, high: Option<i128>, strict: bool) -> bool {
        let is_above = |bound: Option<i128>, equal: bool| {
            bound.is_some_and(|bound| high.is_none_or(|high| high > bound || equal && high == bound))
        };
        let is_below = |bound: Option<i128>, equal: bool| {
            bound.is_some_and(|bound| low.is_none_or(|low| low < bound || equal && low == bound))
        };
        let both = low.zip(high).map(|(low, high)| (low.min(high), low.max(high)));
        both.is_some_and(|(low, high)| self.equal.reach(low, high))
            || self
                .unequal
                .is_some_and(|(from, to)| both.is_none_or(|(low, high)| low < from || high >= to))
            || is_above(self.greater, false)
            || is_above(self.greater_or_equal, !strict)
            || is_below(self.less, false)
            || is_below(self.less_or_equal, !strict)
            || low
                .zip(self.lies_above)
                .is_some_and(|(low, bound)| low > bound || strict && low == bound)
            || high
                .zip(self.lies_below)
                .is_some_and(|(high, bound)| high < bound || strict && high == bound)
    }
}

impl Numbers for NumberSet {
    fn matches_quantity(&self, number: Stored<'_>, comparator: Option<&str>) -> bool {
        match (comparator, number.scaled) {
            (None, Some(scaled)) => {
                self.match_scaled(Some(scaled), Some(scaled), false)
                    || self.approximate.reach(scaled, scaled)
                    || self.beyond.iter().any(|value| value.matches(number))
            }
            (None, None) => self.all.iter().any(|value| value.matches(number)),
            (comparator, _) => self.matches_extent(Extent::of_quantity(number, comparator)),
        }
    }

    fn matches_extent(&self, extent: Extent<'_>) -> bool {
        let is_exact = |bound: Option<Stored<'_>>| bound.is_none_or(|bound| bound.scaled.is_some());
        if !(is_exact(extent.low) && is_exact(extent.high)) {
            return self.all.iter().any(|value| value.matches_extent(extent));
        }
        let scaled = |bound: Option<Stored<'_>>| bound.and_then(|bound| bound.scaled);
        let approximate = self.all.iter().filter(|value| value.prefix == Prefix::Ap);
        self.match_scaled(scaled(extent.low), scaled(extent.high), extent.strict)
            || self
                .beyond
                .iter()
                .chain(approximate)
                .any(|value| value.matches_extent(extent))
    }
}

/// The unit of a quantity in a resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit<'a> {
    /// The system of the unit.
    pub system: Option<&'a str>,
    /// The code of the unit.
    pub code: Option<&'a str>,
    /// The printed unit.
    pub unit: Option<&'a str>,
}

impl Unit<'_> {
    /// Whether this unit is the requested one. If `system` is given, system and code are compared. If not, `code` may
    /// be the code or the printed unit.
    fn is(&self, system: Option<&str>, code: Option<&str>) -> bool {
        match (system, code) {
            (None, None) => true,
            (None, code) => self.code == code || self.unit == code,
            (system, code) => self.system == system && (code.is_none() || self.code == code),
        }
    }
}

/// The quantities that a search wants: one, or a set of many.
pub(crate) trait Quantities {
    /// The numbers of the quantities.
    type Number: Numbers;

    /// Whether a wanted quantity matches a value of a resource: its unit fits, and `hit` returns `true` for its number.
    /// In a set, `hit` gets all numbers of one unit together. `units` returns the unit of the resource's value or, for
    /// a range, the units of both bounds. All of these units must fit.
    fn any<'u>(&self, units: impl Fn() -> [Option<Unit<'u>>; 2], hit: impl Fn(&Self::Number) -> bool) -> bool;
}

impl Quantities for QuantityValue {
    type Number = NumberValue;

    fn any<'u>(&self, units: impl Fn() -> [Option<Unit<'u>>; 2], hit: impl Fn(&NumberValue) -> bool) -> bool {
        let (system, code) = (self.system.as_deref(), self.code.as_deref());
        hit(&self.number) && (self.is_of_any_unit() || units().iter().flatten().all(|unit| unit.is(system, code)))
    }
}

/// A set of many quantities with their prefixes.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuantitySet {
    /// The numbers of those quantities that have no unit. They match values with any unit.
    of_any: Option<NumberSet>,
    /// The numbers with a unit, grouped by the unit.
    by_unit: ByUnit<NumberSet>,
}

/// Numbers by their requested unit. The key combines system and code. The value has the system, the code and the
/// numbers.
type ByUnit<T> = SentMap<String, (Option<String>, Option<String>, T)>;

impl QuantitySet {
    /// Creates a set of these quantities.
    pub(crate) fn of(values: Vec<QuantityValue>) -> QuantitySet {
        let mut by_unit: ByUnit<Vec<NumberValue>> = SentMap::default();
        let mut of_any = Vec::new();
        for QuantityValue { number, system, code } in values {
            if system.is_none() && code.is_none() {
                of_any.push(number);
                continue;
            }
            let key = key(system.as_deref(), code.as_deref());
            let of_unit = by_unit.entry(key).or_insert_with(|| (system, code, Vec::new()));
            of_unit.2.push(number);
        }
        let sets = by_unit.into_iter();
        QuantitySet {
            of_any: (!of_any.is_empty()).then(|| NumberSet::of(of_any)),
            by_unit: sets
                .map(|(key, (system, code, numbers))| (key, (system, code, NumberSet::of(numbers))))
                .collect(),
        }
    }

    /// Returns the numbers of all quantities.
    pub(in crate::search) fn values(&self) -> impl Iterator<Item = &NumberValue> {
        let of_units = self.by_unit.values().map(|(_, _, numbers)| numbers);
        self.of_any.iter().chain(of_units).flat_map(NumberSet::values)
    }

    /// Returns the numbers if no quantity has a unit. Returns `None` if one has.
    pub(crate) fn numbers(&self) -> Option<&NumberSet> {
        self.of_any.as_ref().filter(|_| self.by_unit.is_empty())
    }
}

impl Quantities for QuantitySet {
    type Number = NumberSet;

    fn any<'u>(&self, units: impl Fn() -> [Option<Unit<'u>>; 2], hit: impl Fn(&NumberSet) -> bool) -> bool {
        if self.of_any.as_ref().is_some_and(&hit) {
            return true;
        }
        if self.by_unit.is_empty() {
            return false;
        }
        let units = units();
        let Some(Unit { system, code, unit }) = units.iter().flatten().next() else {
            return false;
        };
        let printed = unit.filter(|unit| Some(*unit) != *code);
        let asked = [(None, *code), (None, printed), (*system, None), (*system, *code)];
        asked.into_iter().any(|(system, code)| {
            let found = match (system, code) {
                (None, None) => None,
                (system, code) => self.by_unit.get(&key(system, code)),
            };
            found.is_some_and(|(system, code, numbers)| {
                let all = |unit: &Unit<'_>| unit.is(system.as_deref(), code.as_deref());
                units.iter().flatten().all(all) && hit(numbers)
            })
        })
    }
}

fn key(system: Option<&str>, code: Option<&str>) -> String {
    let of = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), |text| format!("+{text}"));
    format!("{}|{}", of(system), of(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::decimal::Decimal;

    fn stored(text: &str) -> Stored<'_> {
        Stored {
            scaled: Decimal::parse(text).unwrap().scaled(),
            text: Some(text),
        }
    }

    const NUMBERS: [&str; 9] = [
        "-3",
        "0",
        "4.5",
        "5",
        "5.4",
        "5.49",
        "5.5",
        "100",
        "12345678901234567890123.5",
    ];

    #[test]
    fn a_set_finds_what_its_numbers_find_one_by_one() {
        let prefixes = ["", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"];
        for chosen in 0..1 << prefixes.len() {
            let some = (0..prefixes.len()).filter(|at| chosen & (1 << at) != 0);
            let texts = some.flat_map(|at| [at, at + 4].map(|other| format!("{}{}", prefixes[at], NUMBERS[other % 9])));
            let values: Vec<NumberValue> = texts.filter_map(|text| NumberValue::parse(&text)).collect();
            let set = NumberSet::of(values.clone());
            for number in NUMBERS {
                for comparator in [None, Some("<"), Some("<="), Some(">"), Some(">=")] {
                    let expected = values
                        .iter()
                        .any(|value| value.matches_quantity(stored(number), comparator));
                    let found = set.matches_quantity(stored(number), comparator);
                    assert_eq!(found, expected, "{comparator:?} {number} {values:?}");
                }
                for other in NUMBERS {
                    let extent = Extent {
                        low: Some(stored(number)),
                        high: Some(stored(other)),
                        strict: false,
                    };
                    let expected = values.iter().any(|value| value.matches_extent(extent));
                    assert_eq!(set.matches_extent(extent), expected, "{number} to {other} {values:?}");
                }
            }
        }
    }

    #[test]
    fn a_set_tells_units_as_its_quantities_do() {
        let texts = [
            "5",
            "4.5||mg",
            "5|http://u|mg",
            "0|http://u|",
            "gt5||g",
            "100|http://v|mg",
        ];
        let units = [
            [None, None, None],
            [Some("http://u"), Some("mg"), Some("milligram")],
            [None, None, Some("mg")],
            [Some("http://u"), Some("g"), None],
            [Some("http://v"), Some("mg"), Some("mg")],
        ];
        for chosen in 0..1 << texts.len() {
            let some = (0..texts.len()).filter(|at| chosen & (1 << at) != 0);
            let values: Vec<QuantityValue> = some.filter_map(|at| QuantityValue::parse(texts[at])).collect();
            let set = QuantitySet::of(values.clone());
            for [system, code, unit] in units {
                let unit = || [Some(Unit { system, code, unit }), None];
                for number in NUMBERS {
                    let expected = values
                        .iter()
                        .any(|value| value.any(unit, |of| of.matches_quantity(stored(number), None)));
                    let found = set.any(unit, |of| of.matches_quantity(stored(number), None));
                    assert_eq!(found, expected, "{number} {:?} {values:?}", unit());
                }
            }
        }
    }
}
