//! Quantities: FHIR's (`Quantity` elements and the types that specialize it) and FHIRPath's own, compared in common units.

use std::cmp::Ordering;

use super::number::Number;
use super::units::{self, Dimension};

/// A number with a unit. The unit is a UCUM code or a calendar unit in the singular; `None` for a unit that is neither given
/// nor understood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantity<'a> {
    pub(super) value: Number,
    pub(super) unit: Option<&'a str>,
}

/// A calendar unit in the singular.
pub(super) fn calendar_unit(word: &str) -> &str {
    match word {
        "years" | "months" | "weeks" | "days" | "hours" | "minutes" | "seconds" | "milliseconds" => {
            word.strip_suffix('s').unwrap_or(word)
        }
        _ => word,
    }
}

/// Whether it is a calendar unit in the singular.
pub(super) fn is_calendar_unit(word: &str) -> bool {
    matches!(
        word,
        "year" | "month" | "week" | "day" | "hour" | "minute" | "second" | "millisecond"
    )
}

/// The UCUM unit that a calendar unit equals. A year and a month are not of fixed length: they only are equivalent to one.
fn definite(unit: &str, loosely: bool) -> &str {
    match unit {
        "week" => "wk",
        "day" => "d",
        "hour" => "h",
        "minute" => "min",
        "second" => "s",
        "millisecond" => "ms",
        "year" if loosely => "a",
        "month" if loosely => "mo",
        _ => unit,
    }
}

impl<'a> Quantity<'a> {
    fn unit(&self) -> &'a str {
        match self.unit {
            None | Some("") => "1",
            Some(unit) => unit,
        }
    }

    /// Both numbers in a common unit; `None` where there is none.
    fn common(&self, other: &Quantity<'_>, loosely: bool) -> Option<(Number, Number)> {
        let (left, right) = (definite(self.unit(), loosely), definite(other.unit(), loosely));
        if left == right {
            return Some((self.value, other.value));
        }
        let calendar = |unit: &str| matches!(unit, "year" | "month");
        if calendar(left) && calendar(right) {
            let months = |unit: &str| Number::whole(if unit == "year" { 12 } else { 1 });
            return Some((self.value.multiply(months(left))?, other.value.multiply(months(right))?));
        }
        if calendar(left) || calendar(right) {
            return None;
        }
        let (left, right) = (units::parse(left)?, units::parse(right)?);
        if left.dimensions != right.dimensions {
            return None;
        }
        Some((left.to_base(self.value)?, right.to_base(other.value)?))
    }

    pub(super) fn compare(&self, other: &Quantity<'_>) -> Option<Ordering> {
        self.common(other, false).map(|(left, right)| left.compare(right))
    }

    /// Equality; `None` where the units have nothing in common.
    pub(super) fn equals(&self, other: &Quantity<'_>) -> Option<bool> {
        self.compare(other).map(|order| order == Ordering::Equal)
    }

    /// Equivalence: equal when rounded to the precision of the less precise one.
    pub(super) fn equivalent(&self, other: &Quantity<'_>) -> bool {
        if definite(self.unit(), true) == definite(other.unit(), true) {
            return equivalent_numbers(self.value, other.value);
        }
        self.common(other, true)
            .is_some_and(|(left, right)| equivalent_numbers(left, right))
    }

    /// The sum of quantities, in the unit of the first.
    pub(super) fn add(&self, other: &Quantity<'_>) -> Option<Number> {
        let (left, right) = (definite(self.unit(), false), definite(other.unit(), false));
        if left == right {
            return self.value.add(other.value);
        }
        let (left, right) = (units::parse(left)?, units::parse(right)?);
        if left.dimensions != right.dimensions {
            return None;
        }
        let moved = right.to_base(other.value)?.multiply(left.divisor)?;
        self.value.add(moved.divide(left.factor)?)
    }

    /// How many times the other goes into it.
    pub(super) fn ratio(&self, other: &Quantity<'_>) -> Option<Number> {
        let (left, right) = self.common(other, true)?;
        left.divide(right)
    }

    /// As `toString()` gives it: a calendar unit as a word, a UCUM unit in quotes.
    pub(super) fn to_text(self) -> String {
        match self.unit() {
            unit if is_calendar_unit(unit) => {
                let plural = if self.value.compare(Number::whole(1)).is_eq() {
                    ""
                } else {
                    "s"
                };
                format!("{} {unit}{plural}", self.value)
            }
            unit => format!("{} '{unit}'", self.value),
        }
    }

    /// The unit of a product or quotient with another.
    pub(super) fn combined_unit(&self, other: &Quantity<'_>, sign: char) -> Option<String> {
        let (left, right) = (definite(self.unit(), true), definite(other.unit(), true));
        Some(match (left, right) {
            (_, "1") => left.to_string(),
            ("1", _) if sign == '.' => right.to_string(),
            _ if left == right && sign == '/' => "1".to_string(),
            _ if left == right && left.bytes().all(|byte| byte.is_ascii_alphabetic()) => format!("{left}2"),
            _ => {
                let dimensions: (Dimension, Dimension) =
                    (units::parse(left)?.dimensions, units::parse(right)?.dimensions);
                match dimensions.0 == dimensions.1 && sign == '/' {
                    true => return None,
                    false => format!("{left}{sign}{right}"),
                }
            }
        })
    }
}

/// Decimals are equivalent when equal at the lesser of their precisions.
pub(super) fn equivalent_numbers(left: Number, right: Number) -> bool {
    let scale = left.trimmed().scale.min(right.trimmed().scale);
    left.rounded(scale).compare(right.rounded(scale)) == Ordering::Equal
}
