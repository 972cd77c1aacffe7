//! Quantities: elements of FHIR's type Quantity and its specializations, and FHIRPath's own quantities. Two
//! quantities are compared and computed in a common unit. `units` handles UCUM's units. This file adds calendar
//! units.

use std::cmp::Ordering;
use std::sync::Arc;

use super::number::Number;
use super::units::{self, Unit};

/// A number with a unit. The unit is a UCUM code, a calendar unit in the singular or, in a record, any text. `None`
/// if there is no unit.
#[derive(Clone, Copy, Debug)]
pub(in crate::fhirpath) struct Quantity<'a> {
    pub(in crate::fhirpath) value: Number,
    pub(in crate::fhirpath) unit: Option<&'a str>,
    /// Whether the quantity is an element of a record. In records, R4 reads UCUM's units of time as calendar units. So
    /// such a unit is comparable with calendar units and with UCUM units.
    pub(in crate::fhirpath) recorded: bool,
}

/// Returns a calendar unit in the singular. Returns any other word as it is.
pub(in crate::fhirpath) fn calendar_unit(word: &str) -> &str {
    match word {
        "years" | "months" | "weeks" | "days" | "hours" | "minutes" | "seconds" | "milliseconds" => {
            word.strip_suffix('s').unwrap_or(word)
        }
        _ => word,
    }
}

/// Whether a word is a calendar unit in the singular.
pub(in crate::fhirpath) fn is_calendar_unit(word: &str) -> bool {
    matches!(
        word,
        "year" | "month" | "week" | "day" | "hour" | "minute" | "second" | "millisecond"
    )
}

/// Returns the UCUM unit that equals a calendar unit. A year and a month have no fixed length, so their UCUM units are
/// only equivalent. So `year` and `month` are replaced only if `loosely` is set. Returns all other units unchanged.
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

/// Returns the number of months in a calendar unit. `None` for units other than years and months.
fn months(unit: &str) -> Option<i64> {
    match unit {
        "year" => Some(12),
        "month" => Some(1),
        _ => None,
    }
}

impl<'a> Quantity<'a> {
    pub(in crate::fhirpath) fn new(value: Number, unit: Option<&'a str>) -> Quantity<'a> {
        Quantity {
            value,
            unit,
            recorded: false,
        }
    }

    pub(in crate::fhirpath) fn with_value(self, value: Number) -> Quantity<'a> {
        Quantity { value, ..self }
    }

    fn unit(&self) -> &'a str {
        match self.unit {
            None | Some("") => "1",
            Some(unit) => unit,
        }
    }

    /// Returns the names of both units, so that the caller can compare them. Calendar units are replaced by UCUM units
    /// if possible. `loosely` also replaces years and months, and so does a quantity from a record.
    fn names<'b>(&self, other: &Quantity<'b>, loosely: bool) -> (&'a str, &'b str) {
        let loosely = loosely || self.recorded || other.recorded;
        (definite(self.unit(), loosely), definite(other.unit(), loosely))
    }

    pub(in crate::fhirpath) fn compare(&self, other: &Quantity<'_>) -> Option<Ordering> {
        let (left, right) = self.names(other, false);
        if left == right {
            return Some(self.value.compare(other.value));
        }
        match (months(left), months(right)) {
            (Some(one), Some(another)) => {
                let left = self.value.multiply(Number::whole(one))?;
                Some(left.compare(other.value.multiply(Number::whole(another))?))
            }
            (None, None) => units::lookup(left)?.compare(self.value, &*units::lookup(right)?, other.value),
            _ => None,
        }
    }

    /// Whether the quantities are equal. `None` if the units are not comparable.
    pub(in crate::fhirpath) fn equals(&self, other: &Quantity<'_>) -> Option<bool> {
        self.compare(other).map(|order| order == Ordering::Equal)
    }

    /// Whether the quantities are equal in the coarser of their units, when rounded to the precision of the less
    /// precise number.
    pub(in crate::fhirpath) fn equivalent(&self, other: &Quantity<'_>) -> bool {
        let (left, right) = self.names(other, true);
        if left == right {
            return equivalent_numbers(self.value, other.value);
        }
        let Some((one, another)) = units::lookup(left).zip(units::lookup(right)) else {
            return false;
        };
        let converted = |value: Number, from: &Arc<Unit>, to: &Arc<Unit>| from.convert(value, to);
        if one.is_coarser(&another) {
            converted(other.value, &another, &one).is_some_and(|other| equivalent_numbers(self.value, other))
        } else {
            converted(self.value, &one, &another).is_some_and(|left| equivalent_numbers(left, other.value))
        }
    }

    /// Returns the number of this quantity in the unit of another quantity. `None` if the units are not comparable.
    /// Years and months convert only to each other, unless `loosely` is set: then UCUM units replace them.
    fn in_unit_of(&self, other: &Quantity<'_>, loosely: bool) -> Option<Number> {
        let (from, to) = self.names(other, loosely);
        if from == to {
            return Some(self.value);
        }
        match (months(from), months(to)) {
            (Some(from), Some(to)) => self.value.multiply(Number::whole(from))?.divide(Number::whole(to)),
            (None, None) => units::lookup(from)?.convert(self.value, &*units::lookup(to)?),
            _ => None,
        }
    }

    /// Whether the units are comparable and the unit of this quantity is the coarser one.
    fn is_coarser(&self, other: &Quantity<'_>) -> bool {
        let (one, another) = self.names(other, false);
        match (months(one), months(another)) {
            (Some(one), Some(another)) => one > another,
            (None, None) => units::lookup(one)
                .zip(units::lookup(another))
                .is_some_and(|(one, another)| one.is_coarser(&another) && !another.is_coarser(&one)),
            _ => false,
        }
    }

    /// Returns the sum of two quantities, in the finer of their units (N1, section 6.6.3).
    pub(in crate::fhirpath) fn add(&self, other: &Quantity<'a>) -> Option<Quantity<'a>> {
        let (coarse, fine) = if self.is_coarser(other) {
            (self, other)
        } else {
            (other, self)
        };
        let sum = coarse.in_unit_of(fine, false)?.add(fine.value)?;
        Some(Quantity::new(sum, fine.unit))
    }

    /// Returns the quotient of both quantities in a common unit. `None` if the units are not comparable, if the divisor
    /// is zero, or on overflow.
    pub(in crate::fhirpath) fn ratio(&self, other: &Quantity<'_>) -> Option<Number> {
        self.in_unit_of(other, true)?.divide(other.value)
    }

    /// Returns the number in another unit, as `toQuantity(unit)` defines it. Between calendar units, a year counts as
    /// 365 days and a month as 30 (N1, section 5.5.5).
    pub(in crate::fhirpath) fn converted(&self, unit: &str) -> Option<Number> {
        let (from, to) = (self.unit(), calendar_unit(unit));
        let wanted = Quantity::new(self.value, Some(to));
        if let Some(number) = self.in_unit_of(&wanted, false) {
            return Some(number);
        }
        let days = |unit: &str| match unit {
            "year" => Some(365),
            "month" => Some(30),
            _ => None,
        };
        match (days(from), days(to)) {
            (Some(length), None) if is_calendar_unit(to) => {
                let days = Quantity::new(self.value.multiply(Number::whole(length))?, Some("day"));
                days.in_unit_of(&wanted, false)
            }
            (None, Some(length)) if is_calendar_unit(from) => {
                let days = self.in_unit_of(&Quantity::new(self.value, Some("day")), false)?;
                days.divide(Number::whole(length))
            }
            _ => None,
        }
    }

    /// Returns the quantity as `toString()` does: a calendar unit as a word, a UCUM unit in quotes.
    pub(in crate::fhirpath) fn to_text(self) -> String {
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

    /// Returns the unit of a product (`sign` is `.`) or quotient (`/`). `None` if the units cancel out, or if UCUM does
    /// not know a unit.
    pub(in crate::fhirpath) fn combined_unit(&self, other: &Quantity<'_>, sign: char) -> Option<String> {
        let (left, right) = (definite(self.unit(), true), definite(other.unit(), true));
        Some(match (left, right) {
            (_, "1") => left.to_string(),
            ("1", _) if sign == '.' => right.to_string(),
            _ if left == right && sign == '/' => return None,
            _ if left == right && left.bytes().all(|byte| byte.is_ascii_alphabetic()) => format!("{left}2"),
            _ => {
                let (one, another) = (units::lookup(left)?, units::lookup(right)?);
                if sign == '/' && one.is_commensurable(&another) {
                    return None;
                }
                match right.strip_prefix('/') {
                    Some(inverse) if sign == '/' => format!("{left}.{}", in_brackets(inverse)),
                    Some(_) => format!("{left}{right}"),
                    None => format!("{left}{sign}{}", in_brackets(right)),
                }
            }
        })
    }
}

/// Returns a unit as a part of a product or quotient of units. If it is a product or quotient itself, it gets brackets.
fn in_brackets(unit: &str) -> String {
    if unit.contains(['.', '/']) {
        format!("({unit})")
    } else {
        unit.to_string()
    }
}

/// Whether two decimals are equal when both are rounded to the precision of the less precise one. Trailing zeros do not
/// count for the precision.
pub(in crate::fhirpath) fn equivalent_numbers(left: Number, right: Number) -> bool {
    let scale = left.trimmed().scale.min(right.trimmed().scale);
    left.rounded(scale).compare(right.rounded(scale)) == Ordering::Equal
}
