//! `lowBoundary` and `highBoundary`. A value of limited precision, such as `1.5` or `@2024`, may mean any value in a
//! range. The functions return the minimum and the maximum of this range.

use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::builder::Computed;
use crate::fhirpath::values::number::Number;
use crate::fhirpath::values::scalar::Scalar;
use crate::fhirpath::values::temporal::is_valid;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    Function {
        name: "lowBoundary",
        parameters: &[Parameter::Value],
        required: 0,
        reads: Need::Value,
        shape,
        run: |call| boundary(call, false),
    },
    Function {
        name: "highBoundary",
        parameters: &[Parameter::Value],
        required: 0,
        reads: Need::Value,
        shape,
        run: |call| boundary(call, true),
    },
];

/// The default number of digits after the decimal point in the boundary of a number.
const DECIMAL_PRECISION: i32 = 8;
/// The maximum number of digits after the decimal point that a caller may request.
const MAX_DECIMALS: i32 = 28;

fn shape(signature: &Signature<'_>) -> Shape {
    let mut shape = Shape::default();
    for source in &signature.input.sources {
        match source.item_type.system() {
            Some(System::Integer | System::Long) => shape.add(&Shape::one(ItemType::System(System::Decimal))),
            Some(system @ (System::Decimal | System::Date | System::DateTime | System::Time | System::Quantity)) => {
                shape.add(&Shape::one(ItemType::System(system)));
            }
            _ => {}
        }
    }
    shape
}

fn boundary(call: &Invocation<'_>, high: bool) -> Result<Output, FhirPathError> {
    let precisions = if call.has(0) { Some(call.integers(0)?) } else { None };
    call.map(|row, value| {
        let precision = match &precisions {
            None => None,
            Some(precisions) => match precisions[row] {
                None => return Ok(None),
                given => given,
            },
        };
        Ok(match value {
            Scalar::Integer(_) | Scalar::Long(_) | Scalar::Decimal(_) => {
                let number = value.number().and_then(|number| of_number(number, precision, high));
                number.map(Computed::Decimal)
            }
            Scalar::Quantity(quantity) => of_number(quantity.value, precision, high).map(|value| Computed::Quantity {
                value,
                unit: quantity.unit.map(str::to_string),
            }),
            Scalar::Beyond(..) => None,
            Scalar::Temporal(kind, text) => of_temporal(kind, text, precision, high),
            other => {
                return Err(format!(
                    "expects a number, date, time or Quantity, not a {}",
                    other.kind()
                ));
            }
        })
    })
}

/// Returns the number plus half a unit of its last digit if `high` is set, else minus this half. If `precision` allows
/// fewer digits than the result has, a result that is farther from zero than the number is rounded, and a nearer one is
/// truncated, as HL7's tests expect. `None` if `precision` is not from 0 to 28, or if the result is too large.
fn of_number(number: Number, precision: Option<i32>, high: bool) -> Option<Number> {
    let precision = precision.unwrap_or(DECIMAL_PRECISION);
    if !(0..=MAX_DECIMALS).contains(&precision) {
        return None;
    }
    let half = Number {
        mantissa: if high { 5 } else { -5 },
        scale: number.scale + 1,
    };
    let exact = number.add(half)?;
    let precision = precision as u32;
    if precision >= exact.scale {
        return exact.rescaled(precision);
    }
    if high == (number.mantissa >= 0) {
        return Some(exact.rounded(precision));
    }
    let divisor = 10i128.checked_pow(exact.scale - precision)?;
    Some(Number {
        mantissa: exact.mantissa / divisor,
        scale: precision,
    })
}

/// Returns the number of digits that a date or time has, without those of its zone.
pub(in crate::fhirpath::functions) fn digits(text: &str) -> usize {
    let (date, clock) = split(text);
    date.bytes().chain(clock.bytes()).filter(u8::is_ascii_digit).count()
}

/// Splits a text into the date and the time without its zone. A text without a `T` is a time if it looks like one: it
/// has two characters, or `:` as its third.
fn split(text: &str) -> (&str, &str) {
    let (date, clock) = match text.split_once('T') {
        Some(parts) => parts,
        None if text.as_bytes().get(2) == Some(&b':') || text.len() == 2 => ("", text),
        None => (text, ""),
    };
    (date, &clock[..clock.find(['Z', '+', '-']).unwrap_or(clock.len())])
}

fn of_temporal(kind: System, text: &str, precision: Option<i32>, high: bool) -> Option<Computed> {
    if !is_valid(kind, text) {
        return None;
    }
    let (date, clock) = split(text);
    let whole = match kind {
        System::Time => 9,
        System::Date => 8,
        _ => 17,
    };
    let wanted = precision.unwrap_or(whole);
    if kind == System::Time {
        return match wanted {
            2 | 4 | 6 | 9 => Some(Computed::Time(cut_clock(&full_clock(clock, high), wanted as usize))),
            _ => None,
        };
    }
    let date = full_date(date, high)?;
    match wanted {
        4 => dated(kind, &date[..4]),
        6 => dated(kind, &date[..7]),
        8 => dated(kind, &date),
        10 | 12 | 14 | 17 if kind == System::DateTime => {
            let zone_at = text
                .find('T')
                .and_then(|at| text[at..].find(['Z', '+', '-']).map(|zone| at + zone));
            // A time without a zone may be in any zone. So use the zone that gives the latest moment if `high` is set,
            // else the zone that gives the earliest.
            let zone = zone_at.map_or(if high { "-12:00" } else { "+14:00" }, |at| &text[at..]);
            let clock = cut_clock(&full_clock(clock, high), wanted as usize - 8);
            Some(Computed::DateTime(format!("{date}T{clock}{zone}")))
        }
        _ => None,
    }
}

fn dated(kind: System, text: &str) -> Option<Computed> {
    Some(match kind {
        System::Date => Computed::Date(text.to_string()),
        _ => Computed::DateTime(text.to_string()),
    })
}

fn full_date(date: &str, high: bool) -> Option<String> {
    let year = date.get(..4)?;
    let month = date.get(5..7).unwrap_or(if high { "12" } else { "01" });
    let day = match (date.get(8..10), high) {
        (Some(day), _) => day.to_string(),
        (None, false) => "01".to_string(),
        (None, true) => {
            let month_start = chrono::NaiveDate::from_ymd_opt(year.parse().ok()?, month.parse().ok()?, 1)?;
            month_start
                .checked_add_months(chrono::Months::new(1))?
                .pred_opt()?
                .format("%d")
                .to_string()
        }
    };
    Some(format!("{year}-{month}-{day}"))
}

/// Completes hours, minutes, seconds and milliseconds. Missing parts get their maximum if `high` is set, else 0.
fn full_clock(clock: &str, high: bool) -> String {
    let filler = if high { "23:59:59.999" } else { "00:00:00.000" };
    let clock = &clock[..clock.len().min(filler.len())];
    format!("{clock}{}", &filler[clock.len()..])
}

fn cut_clock(clock: &str, digits: usize) -> String {
    let length = match digits {
        2 => 2,
        4 => 5,
        6 => 8,
        _ => clock.len(),
    };
    clock[..length].to_string()
}
