//! Quantities: FHIR's (`Quantity` elements and its specializations) and FHIRPath's own. They are compared and computed
//! in common units. `units` handles UCUM's units. This file adds calendar units.

use std::cmp::Ordering;
use std::sync::Arc;

use super::number::Number;
use super::units::{self, Unit};

/// A number with a unit. The unit is a UCUM code or a calendar unit in the singular. `None` if it is missing or
/// unknown.
#[derive(Clone, Copy, Debug)]
pub(in crate::fhirpath) struct Quantity<'a> {
    pub(in crate::fhirpath) value: Number,
    pub(in crate::fhirpath) unit: Option<&'a str>,
    /// Whether the quantity is an element of a record. R4 reads time units in records as calendar units, so these
    /// compare with both kinds of units.
    pub(in crate::fhirpath) recorded: bool,
}

/// A calendar unit in the singular.
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

/// The UCUM unit that equals a calendar unit. A year and a month have no fixed length, so they have only an equivalent
/// UCUM unit. `loosely` allows that one too.
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

/// How many months a calendar unit has. `None` for units other than years and months.
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

    /// The names of both units. Calendar units are replaced by UCUM units where possible, so that the names can be
    /// compared.
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

    /// Equality. `None` if the units are not comparable.
    pub(in crate::fhirpath) fn equals(&self, other: &Quantity<'_>) -> Option<bool> {
        self.compare(other).map(|order| order == Ordering::Equal)
    }

    /// Equivalence: equal in the coarser of the units when rounded to the precision of the less precise number.
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

    /// The quantity's number in the unit of another. Years and months convert only to calendar units.
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

    /// Whether its unit is the coarser of two comparable units.
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

    /// The sum of quantities, in the finer of their units (N1, section 6.6.3).
    pub(in crate::fhirpath) fn add(&self, other: &Quantity<'a>) -> Option<Quantity<'a>> {
        let (coarse, fine) = if self.is_coarser(other) {
            (self, other)
        } else {
            (other, self)
        };
        let sum = coarse.in_unit_of(fine, false)?.add(fine.value)?;
        Some(Quantity::new(sum, fine.unit))
    }

    /// The quotient of both quantities in a common unit.
    pub(in crate::fhirpath) fn ratio(&self, other: &Quantity<'_>) -> Option<Number> {
        self.in_unit_of(other, true)?.divide(other.value)
    }

    /// The number in another unit, as `toQuantity(unit)` defines it. A year counts as 365 days and a month as 30 (N1,
    /// section 5.5.5), but neither becomes a UCUM unit.
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

    /// The form of `toString()`: a calendar unit as a word, a UCUM unit in quotes.
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

    /// The unit of a product or quotient with another. `None` if the units cancel out.
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

/// A unit as a part of another. A product or quotient gets brackets.
fn in_brackets(unit: &str) -> String {
    if unit.contains(['.', '/']) {
        format!("({unit})")
    } else {
        unit.to_string()
    }
}

/// Decimals are equivalent if they are equal at the lower of their precisions.
pub(in crate::fhirpath) fn equivalent_numbers(left: Number, right: Number) -> bool {
    let scale = left.trimmed().scale.min(right.trimmed().scale);
    left.rounded(scale).compare(right.rounded(scale)) == Ordering::Equal
}
