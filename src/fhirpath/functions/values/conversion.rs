//! Conversions: `toX()` and `convertsToX()`. Both apply the same rules.

use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::Invocation;
use crate::fhirpath::values::builder::Computed;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::number::Number;
use crate::fhirpath::values::quantity::{Quantity, calendar_unit, is_calendar_unit};
use crate::fhirpath::values::scalar::Scalar;
use crate::fhirpath::values::temporal;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    converting("toBoolean", System::Boolean, |call| to(call, System::Boolean)),
    converting("toInteger", System::Integer, |call| to(call, System::Integer)),
    converting("toLong", System::Long, |call| to(call, System::Long)),
    converting("toDecimal", System::Decimal, |call| to(call, System::Decimal)),
    converting("toString", System::String, |call| to(call, System::String)),
    converting("toDate", System::Date, |call| to(call, System::Date)),
    converting("toDateTime", System::DateTime, |call| to(call, System::DateTime)),
    converting("toTime", System::Time, |call| to(call, System::Time)),
    converting("toQuantity", System::Quantity, |call| {
        let units = units(call)?;
        call.map(|row, value| Ok(quantity_in(value, call, &units, row)))
    })
    .taking_a_unit(),
    converting("convertsToBoolean", System::Boolean, |call| {
        converts(call, System::Boolean)
    })
    .judging(),
    converting("convertsToInteger", System::Integer, |call| {
        converts(call, System::Integer)
    })
    .judging(),
    converting("convertsToLong", System::Long, |call| converts(call, System::Long)).judging(),
    converting("convertsToDecimal", System::Decimal, |call| {
        converts(call, System::Decimal)
    })
    .judging(),
    converting("convertsToString", System::String, |call| {
        converts(call, System::String)
    })
    .judging(),
    converting("convertsToDate", System::Date, |call| converts(call, System::Date)).judging(),
    converting("convertsToDateTime", System::DateTime, |call| {
        converts(call, System::DateTime)
    })
    .judging(),
    converting("convertsToTime", System::Time, |call| converts(call, System::Time)).judging(),
    converting("convertsToQuantity", System::Quantity, |call| {
        let units = units(call)?;
        call.judge(|row, value| Ok(Some(quantity_in(value, call, &units, row).is_some())))
    })
    .judging()
    .taking_a_unit(),
];

const fn converting(
    name: &'static str,
    to: System,
    run: fn(&Invocation<'_>) -> Result<Output, FhirPathError>,
) -> Function {
    let shape: fn(&Signature<'_>) -> Shape = match to {
        System::Boolean => |_| one(System::Boolean),
        System::Integer => |_| one(System::Integer),
        System::Long => |_| one(System::Long),
        System::Decimal => |_| one(System::Decimal),
        System::Date => |_| one(System::Date),
        System::DateTime => |_| one(System::DateTime),
        System::Time => |_| one(System::Time),
        System::Quantity => |_| one(System::Quantity),
        _ => |_| one(System::String),
    };
    Function {
        name,
        parameters: &[],
        required: 0,
        reads: Need::Value,
        shape,
        run,
    }
}

fn one(system: System) -> Shape {
    Shape::one(ItemType::System(system))
}

impl Function {
    const fn judging(mut self) -> Function {
        self.shape = super::super::signature::boolean;
        self
    }

    const fn taking_a_unit(mut self) -> Function {
        self.parameters = &[Parameter::Value];
        self
    }
}

fn to(call: &Invocation<'_>, system: System) -> Result<Output, FhirPathError> {
    call.map(|_, value| Ok(convert(value, system)))
}

/// Evaluates the argument that requests a unit. `None` if the call has no argument.
fn units(call: &Invocation<'_>) -> Result<Option<Collection>, FhirPathError> {
    call.has(0).then(|| call.value(0)).transpose()
}

/// Returns a value as a Quantity in the unit that the call requests for the row. If the call requests no unit (`units`
/// is `None`), the Quantity keeps its own unit. Returns `None` if the argument is empty in the row, or if the
/// conversion is impossible.
fn quantity_in(value: Scalar<'_>, call: &Invocation<'_>, units: &Option<Collection>, row: usize) -> Option<Computed> {
    let Some(units) = units else {
        return quantity(value);
    };
    let unit = call.text(units, row)?;
    let Computed::Quantity { value, unit: of } = quantity(value)? else {
        return None;
    };
    Some(Computed::Quantity {
        value: Quantity::new(value, of.as_deref()).converted(unit)?,
        unit: Some(calendar_unit(unit).to_string()),
    })
}

fn converts(call: &Invocation<'_>, system: System) -> Result<Output, FhirPathError> {
    call.judge(|_, value| Ok(Some(convert(value, system).is_some())))
}

/// Converts a value to another type (N1, section 5.5). `None` if the value cannot be converted.
fn convert(value: Scalar<'_>, to: System) -> Option<Computed> {
    match to {
        System::Boolean => boolean(value).map(Computed::Boolean),
        System::Integer => match value {
            Scalar::Integer(value) => Some(Computed::Integer(value)),
            Scalar::Long(value) => i32::try_from(value).ok().map(Computed::Integer),
            Scalar::Boolean(value) => Some(Computed::Integer(value.into())),
            Scalar::Text(text) if is_integer(text) => text.parse().ok().map(Computed::Integer),
            _ => None,
        },
        System::Long => match value {
            Scalar::Integer(value) => Some(Computed::Long(value.into())),
            Scalar::Long(value) => Some(Computed::Long(value)),
            Scalar::Boolean(value) => Some(Computed::Long(value.into())),
            Scalar::Text(text) if is_integer(text) => text.parse().ok().map(Computed::Long),
            _ => None,
        },
        System::Decimal => match value {
            Scalar::Boolean(value) => Some(Computed::Decimal(Number {
                mantissa: i128::from(value) * 10,
                scale: 1,
            })),
            Scalar::Text(text) if is_decimal(text) => Number::parse(text).map(Computed::Decimal),
            other => other.number().map(Computed::Decimal),
        },
        System::String => value.to_text().map(Computed::String),
        System::Date => match value {
            Scalar::Temporal(System::Date, text) => Some(Computed::Date(text.to_string())),
            Scalar::Temporal(System::DateTime, text) | Scalar::Text(text) => {
                let valid = temporal::is_valid(System::DateTime, text);
                let date = text.split('T').next().unwrap_or(text);
                (valid && temporal::is_valid(System::Date, date)).then(|| Computed::Date(date.to_string()))
            }
            _ => None,
        },
        System::DateTime => match value {
            Scalar::Temporal(System::Date | System::DateTime, text) => Some(Computed::DateTime(text.to_string())),
            Scalar::Text(text) if temporal::is_valid(System::DateTime, text) => {
                Some(Computed::DateTime(text.to_string()))
            }
            _ => None,
        },
        System::Time => match value {
            Scalar::Temporal(System::Time, text) => Some(Computed::Time(text.to_string())),
            Scalar::Text(text) if temporal::is_valid(System::Time, text) => Some(Computed::Time(text.to_string())),
            _ => None,
        },
        System::Quantity => quantity(value),
        System::TypeInfo | System::Target => None,
    }
}

fn boolean(value: Scalar<'_>) -> Option<bool> {
    match value {
        Scalar::Boolean(value) => Some(value),
        Scalar::Integer(0) => Some(false),
        Scalar::Integer(1) => Some(true),
        Scalar::Long(0) => Some(false),
        Scalar::Long(1) => Some(true),
        Scalar::Decimal(number) => match number.to_i32()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Scalar::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" | "1.0" => Some(true),
            "false" | "f" | "no" | "n" | "0" | "0.0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

fn is_integer(text: &str) -> bool {
    let digits = unsigned(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_decimal(text: &str) -> bool {
    match unsigned(text).split_once('.') {
        None => is_integer(text),
        Some((whole, fraction)) => [whole, fraction]
            .iter()
            .all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())),
    }
}

/// Converts a value to a Quantity. A string must be a number with an optional unit: a UCUM unit in quotes, or a
/// calendar unit as a word.
fn quantity(value: Scalar<'_>) -> Option<Computed> {
    match value {
        Scalar::Boolean(value) => {
            let value = Number {
                mantissa: i128::from(value) * 10,
                scale: 1,
            };
            Some(Computed::Quantity {
                value,
                unit: Some("1".to_string()),
            })
        }
        Scalar::Text(text) => {
            let digits = unsigned(text);
            let ends = digits.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
            let (number, unit) = text.split_at(text.len() - digits.len() + ends.unwrap_or(digits.len()));
            let unit = unit.trim();
            let value = if is_decimal(number) {
                Number::parse(number)?
            } else {
                return None;
            };
            let unit = match unit {
                "" => "1",
                _ => match unit.strip_prefix('\'').and_then(|unit| unit.strip_suffix('\'')) {
                    Some(ucum) if !ucum.is_empty() => ucum,
                    Some(_) => return None,
                    None if is_calendar_unit(calendar_unit(unit)) => calendar_unit(unit),
                    None => return None,
                },
            };
            Some(Computed::Quantity {
                value,
                unit: Some(unit.to_string()),
            })
        }
        other => {
            let quantity = other.quantity()?;
            Some(Computed::quantity(&Quantity {
                unit: Some(quantity.unit.unwrap_or("1")),
                ..quantity
            }))
        }
    }
}
