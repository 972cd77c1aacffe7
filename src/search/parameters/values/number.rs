//! Number and quantity values: a decimal with a prefix, compared exactly or within its written precision (R4 search,
//! 3.1.1.4.6 and 3.1.1.4.13).

use std::cmp::Ordering;

use super::{Prefix, escape};
use crate::fhir::decimal::{Decimal, Range};

/// The value of a number parameter, with its prefix.
#[derive(Clone, Debug)]
pub(crate) struct NumberValue {
    pub(super) prefix: Prefix,
    text: String,
    pub(super) scaled: Option<i128>,
    /// The range of numbers that `eq` accepts. With the prefix `ap`, the range that `ap` accepts.
    range: Range,
    pub(super) range_scaled: (i128, i128),
}

/// The value of a search: one number, or a set of numbers of which at least one must match.
pub(crate) trait Numbers {
    /// Whether a quantity matches. With a comparator, the quantity stands for all numbers above or below its own
    /// number.
    fn matches_quantity(&self, number: Stored<'_>, comparator: Option<&str>) -> bool;

    /// Whether a range of numbers matches.
    fn matches_extent(&self, extent: Extent<'_>) -> bool;
}

/// A number in a resource, in two forms: times 10^18, and as written. At least one of them exists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored<'a> {
    /// The number times 10^18. `None` if that is not an integer of at most 38 digits.
    pub scaled: Option<i128>,
    /// The number as written. It may be missing if `scaled` exists.
    pub text: Option<&'a str>,
}

impl Stored<'_> {
    /// Returns the number times 10^18. If `scaled` is missing, returns the lower bound of the range that the written
    /// digits stand for, times 10^18. The result is limited to -10^38 to 10^38.
    pub(in crate::search) fn nearest(&self) -> Option<i128> {
        self.scaled
            .or_else(|| Some(Decimal::parse(self.text?).ok()?.implicit_range().scaled().0))
    }
}

/// The range of numbers for which a resource's value stands, such as a Range or a quantity with a comparator. A bound
/// of `None` means that there is no bound. Without both bounds, the range contains all numbers. A value of which no
/// number is known has no range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent<'a> {
    /// The lower bound.
    pub low: Option<Stored<'a>>,
    /// The upper bound.
    pub high: Option<Stored<'a>>,
    /// Whether the bounds themselves are excluded.
    pub strict: bool,
}

impl<'a> Extent<'a> {
    /// Returns the range of a quantity: only its number or, with a comparator, all numbers above or below it.
    pub(crate) fn of_quantity(number: Stored<'a>, comparator: Option<&str>) -> Extent<'a> {
        let (low, high) = match comparator {
            Some("<" | "<=") => (None, Some(number)),
            Some(">" | ">=") => (Some(number), None),
            _ => (Some(number), Some(number)),
        };
        let strict = matches!(comparator, Some("<" | ">"));
        Extent { low, high, strict }
    }
}

impl NumberValue {
    /// Parses one alternative of a number parameter. Returns `None` if it is not a number.
    pub(crate) fn parse(text: &str) -> Option<NumberValue> {
        let (prefix, text) = Prefix::split(text);
        let text = text.strip_prefix('+').unwrap_or(text);
        let decimal = Decimal::parse(text).ok()?;
        let range = if prefix == Prefix::Ap {
            decimal.approximate_range()
        } else {
            decimal.implicit_range()
        };
        let range_scaled = range.scaled();
        Some(NumberValue {
            prefix,
            text: text.to_owned(),
            scaled: decimal.scaled(),
            range,
            range_scaled,
        })
    }

    /// Returns the lowest and the highest number that match this value, both times 10^18. An inner `None` means that
    /// there is no bound on this side. Returns `None` for `ne`, because the matching numbers are no range. Also returns
    /// `None` if a bound is this value, and its number times 10^18 is not an integer of at most 38 digits.
    pub(in crate::search) fn bounds(&self) -> Option<(Option<i128>, Option<i128>)> {
        Some(match self.prefix {
            Prefix::Eq | Prefix::Ap => (Some(self.range_scaled.0), Some(self.range_scaled.1 - 1)),
            Prefix::Gt | Prefix::Sa => (Some(self.scaled? + 1), None),
            Prefix::Ge => (Some(self.scaled?), None),
            Prefix::Lt | Prefix::Eb => (None, Some(self.scaled? - 1)),
            Prefix::Le => (None, Some(self.scaled?)),
            Prefix::Ne => return None,
        })
    }

    /// Whether a single number matches.
    pub(crate) fn matches(&self, number: Stored<'_>) -> bool {
        match self.prefix {
            Prefix::Ap => self.admits(number),
            _ => self.matches_extent(Extent::of_quantity(number, None)),
        }
    }

    /// Whether this value is in the range that the number's written digits stand for. If the number has no text,
    /// because it is an integer, it must equal this value.
    pub(crate) fn is_within(&self, number: Stored<'_>) -> bool {
        match number.text.map(Decimal::parse) {
            Some(Ok(written)) => {
                Decimal::parse(&self.text).is_ok_and(|value| written.implicit_range().contains(&value))
            }
            _ => self.compare(number) == Some(Ordering::Equal),
        }
    }

    /// Whether the number is in `range`, the numbers that `eq` or `ap` accepts.
    fn admits(&self, number: Stored<'_>) -> bool {
        match (number.scaled, number.text) {
            (Some(scaled), _) => scaled >= self.range_scaled.0 && scaled < self.range_scaled.1,
            (None, Some(text)) => Decimal::parse(text).is_ok_and(|decimal| self.range.contains(&decimal)),
            (None, None) => false,
        }
    }

    /// Compares the number with this value.
    fn compare(&self, number: Stored<'_>) -> Option<Ordering> {
        if let (Some(number), Some(value)) = (number.scaled, self.scaled) {
            return Some(number.cmp(&value));
        }
        let value = Decimal::parse(&self.text).ok()?;
        match (number.text, number.scaled) {
            (Some(text), _) => Some(Decimal::parse(text).ok()?.cmp(&value)),
            // The number has no text. `scaled` is the number times 10^18, so this text is the same number.
            (None, Some(scaled)) => Some(Decimal::parse(&format!("{scaled}e-18")).ok()?.cmp(&value)),
            (None, None) => None,
        }
    }

    fn overlaps(&self, Extent { low, high, strict }: Extent<'_>) -> bool {
        let bound = |text: &str| NumberValue::parse(text);
        let (Some(lower), Some(upper)) = (bound(self.range.lower()), bound(self.range.upper())) else {
            return false;
        };
        let reaches = |order: Ordering, far: Ordering| order == far || order == Ordering::Equal && !strict;
        let starts = low.is_none_or(|low| upper.compare(low).is_some_and(|order| reaches(order, Ordering::Less)));
        let ends = high.is_none_or(|high| {
            lower
                .compare(high)
                .is_some_and(|order| reaches(order, Ordering::Greater))
        });
        starts && ends
    }
}

impl Numbers for NumberValue {
    fn matches_quantity(&self, number: Stored<'_>, comparator: Option<&str>) -> bool {
        match comparator {
            None => self.matches(number),
            comparator => self.matches_extent(Extent::of_quantity(number, comparator)),
        }
    }

    fn matches_extent(&self, extent: Extent<'_>) -> bool {
        let Extent { low, high, strict } = extent;
        let within = || low.is_some_and(|low| self.admits(low)) && high.is_some_and(|high| self.admits(high));
        let high_is =
            |wanted: &[Ordering]| high.is_none_or(|high| self.compare(high).is_some_and(|o| wanted.contains(&o)));
        let low_is = |wanted: &[Ordering]| low.is_none_or(|low| self.compare(low).is_some_and(|o| wanted.contains(&o)));
        use Ordering::{Equal, Greater, Less};
        match self.prefix {
            Prefix::Eq => within(),
            Prefix::Ne => !within(),
            Prefix::Ge if !strict => high_is(&[Greater, Equal]),
            Prefix::Le if !strict => low_is(&[Less, Equal]),
            Prefix::Gt | Prefix::Ge => high_is(&[Greater]),
            Prefix::Lt | Prefix::Le => low_is(&[Less]),
            // The bounds of the range are not in the range (`strict`). So if a bound equals the value, all numbers of
            // the range are still greater (`sa`) or less (`eb`) than the value.
            Prefix::Sa if strict => low.is_some() && low_is(&[Greater, Equal]),
            Prefix::Eb if strict => high.is_some() && high_is(&[Less, Equal]),
            Prefix::Sa => low.is_some() && low_is(&[Greater]),
            Prefix::Eb => high.is_some() && high_is(&[Less]),
            Prefix::Ap => self.overlaps(extent),
        }
    }
}

/// The value of a quantity parameter, with its prefix.
#[derive(Clone, Debug)]
pub(crate) struct QuantityValue {
    /// The number.
    pub number: NumberValue,
    /// The system of the unit, if the value has one.
    pub system: Option<String>,
    /// The unit, if the value has one: a code of `system` or, without a system, a code or the printed unit.
    pub code: Option<String>,
}

impl QuantityValue {
    /// Whether only the number is compared, because the value has no unit.
    pub(crate) fn is_of_any_unit(&self) -> bool {
        self.system.is_none() && self.code.is_none()
    }

    /// Parses `number`, `number|system|code` or `number||code`.
    pub(crate) fn parse(text: &str) -> Option<QuantityValue> {
        let parts = escape::split(text, '|');
        let part = |at: usize| {
            parts
                .get(at)
                .map(|part| escape::unescape(part))
                .filter(|part| !part.is_empty())
        };
        if !matches!(parts.len(), 1 | 3) {
            return None;
        }
        Some(QuantityValue {
            number: NumberValue::parse(parts[0])?,
            system: part(1),
            code: part(2),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(search: &str, number: &str) -> bool {
        let scaled = Decimal::parse(number).unwrap().scaled();
        NumberValue::parse(search).unwrap().matches(Stored {
            scaled,
            text: Some(number),
        })
    }

    #[test]
    fn precision_decides_equality_and_nothing_else() {
        assert!(matches("100", "99.5"));
        assert!(!matches("100", "100.5"));
        assert!(!matches("100.00", "99.99"));
        assert!(matches("gt100", "100.1"));
        assert!(!matches("gt100", "100.0"));
        assert!(matches("ge100", "100.0"));
        assert!(matches("ne100", "101"));
        assert!(matches("ap100", "110"));
        assert!(!matches("ap100", "111"));
        assert!(matches("lt1e2", "99.9999"));
    }

    #[test]
    fn bounds_hold_what_matches_and_nothing_else() {
        let numbers = [
            "-3",
            "0",
            "4.5",
            "4.499999999999999999",
            "5",
            "5.000000000000000001",
            "5.4",
            "5.5",
            "100",
        ];
        for prefix in ["", "eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"] {
            for value in [
                "0",
                "5",
                "5.0",
                "-3",
                "1e2",
                "5.0000000000000000001",
                "12345678901234567890123",
            ] {
                let Some((from, to)) = NumberValue::parse(&format!("{prefix}{value}")).unwrap().bounds() else {
                    assert!(prefix == "ne" || value.len() > 20, "{prefix}{value}");
                    continue;
                };
                for number in numbers {
                    let scaled = Decimal::parse(number).unwrap().scaled().unwrap();
                    let within = from.is_none_or(|from| from <= scaled) && to.is_none_or(|to| scaled <= to);
                    assert_eq!(
                        within,
                        matches(&format!("{prefix}{value}"), number),
                        "{prefix}{value} {number}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_comparator_stands_for_all_on_one_side() {
        let held = |search: &str, comparator: &str, number: &'static str| {
            let number = Stored {
                scaled: Decimal::parse(number).unwrap().scaled(),
                text: Some(number),
            };
            let extent = Extent::of_quantity(number, Some(comparator));
            NumberValue::parse(search).unwrap().matches_extent(extent)
        };
        let found = |comparator: &str, number: &str| {
            let prefixes = ["eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"];
            let found = prefixes
                .into_iter()
                .filter(|prefix| held(&format!("{prefix}{number}"), comparator, "5"));
            found.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("<", "5"), "ne lt le eb ap");
        assert_eq!(found("<=", "5"), "ne lt ge le ap");
        assert_eq!(found(">", "5"), "ne gt ge sa ap");
        assert_eq!(found(">=", "5"), "ne gt ge le ap");
        assert_eq!(found("<", "4"), "ne gt lt ge le ap");
        assert_eq!(found("<", "6"), "ne lt le eb");
        assert_eq!(found(">", "6"), "ne gt lt ge le ap");
        assert_eq!(found(">", "4"), "ne gt ge sa");
        assert!(held("ap50", ">=", "55") && !held("ap50", ">", "55"));
    }

    #[test]
    fn numbers_beyond_the_column_compare_by_text() {
        let huge = "123456789012345678901234567890.5";
        assert_eq!(Decimal::parse(huge).unwrap().scaled(), None);
        assert!(matches("gt123456789012345678901234567890", huge));
        assert!(!matches("lt123456789012345678901234567890", huge));
    }

    #[test]
    fn what_is_no_number() {
        for text in ["", "gt", "abc", "1.2.3", "--1", "0x10"] {
            assert!(NumberValue::parse(text).is_none(), "{text}");
        }
        assert!(QuantityValue::parse("5|a").is_none());
        assert_eq!(QuantityValue::parse("5.4||mg").unwrap().code.as_deref(), Some("mg"));
    }
}
