//! Functions on numbers.

use super::super::signature;
use super::super::signature::{Function, Need, Parameter, Signature};
use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::interpreter::Output;
use crate::fhirpath::evaluate::invocation::{Invocation, RowResult};
use crate::fhirpath::values::builder::Computed;
use crate::fhirpath::values::number::Number;
use crate::fhirpath::values::scalar::Scalar;

type Run = fn(&Invocation<'_>) -> Result<Output, FhirPathError>;

pub(in crate::fhirpath::functions) const FUNCTIONS: &[Function] = &[
    function("abs", &[], 0, same, abs),
    function("ceiling", &[], 0, signature::integer, |call| {
        whole(call, |number| -number.negate().floor())
    }),
    function("floor", &[], 0, signature::integer, |call| whole(call, Number::floor)),
    function("truncate", &[], 0, signature::integer, |call| {
        whole(call, Number::truncated)
    }),
    function("round", &[Parameter::Value], 0, decimal, round),
    function("exp", &[], 0, decimal, |call| real(call, f64::exp)),
    function("ln", &[], 0, decimal, |call| real(call, f64::ln)),
    function("sqrt", &[], 0, decimal, |call| real(call, f64::sqrt)),
    function("log", &[Parameter::Value], 1, decimal, log),
    function("power", &[Parameter::Value], 1, of_power, power),
];

const fn function(
    name: &'static str,
    parameters: &'static [Parameter],
    required: usize,
    shape: fn(&Signature<'_>) -> Shape,
    run: Run,
) -> Function {
    Function {
        name,
        parameters,
        required,
        reads: Need::Value,
        shape,
        run,
    }
}

fn decimal(_: &Signature<'_>) -> Shape {
    Shape::one(ItemType::System(System::Decimal))
}

/// Returns the result types of `abs`: the numeric types of the input.
fn same(signature: &Signature<'_>) -> Shape {
    let mut shape = Shape::default();
    for source in &signature.input.sources {
        if let Some(system @ (System::Integer | System::Long | System::Decimal | System::Quantity)) =
            source.item_type.system()
        {
            shape.add(&Shape::one(ItemType::System(system)));
        }
    }
    shape
}

/// Returns the result types of `power`. The power of whole numbers is a whole number if it fits, and else a Decimal. A
/// Quantity has no power.
fn of_power(signature: &Signature<'_>) -> Shape {
    let mut shape = Shape::default();
    let long = |shape: &Shape| {
        shape
            .sources
            .iter()
            .any(|source| source.item_type.system() == Some(System::Long))
    };
    let long = long(signature.input) || signature.arguments.iter().any(long);
    for source in &signature.input.sources {
        match source.item_type.system() {
            Some(System::Integer) if !long => shape.add(&Shape::one(ItemType::System(System::Integer))),
            Some(System::Integer | System::Long) => shape.add(&Shape::one(ItemType::System(System::Long))),
            _ => {}
        }
    }
    shape.add(&Shape::one(ItemType::System(System::Decimal)));
    shape
}

fn number_of(value: Scalar<'_>) -> Result<Number, String> {
    value
        .number()
        .ok_or_else(|| format!("expects a number, not a {}", value.kind()))
}

/// Applies `of` to the value of each row. The result of a row is empty if its number has more digits or a larger
/// exponent than computations allow.
fn of_numbers(
    call: &Invocation<'_>,
    mut of: impl FnMut(usize, Scalar<'_>) -> RowResult<Computed>,
) -> Result<Output, FhirPathError> {
    call.map(|row, value| if value.is_beyond() { Ok(None) } else { of(row, value) })
}

fn abs(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let positive = |number: Number| if number.mantissa < 0 { number.negate() } else { number };
    of_numbers(call, |_, value| match value {
        Scalar::Integer(value) => Ok(value.checked_abs().map(Computed::Integer)),
        Scalar::Long(value) => Ok(value.checked_abs().map(Computed::Long)),
        Scalar::Quantity(quantity) => {
            let positive = quantity.with_value(positive(quantity.value));
            Ok(Some(Computed::quantity(&positive)))
        }
        other => Ok(Some(Computed::Decimal(positive(number_of(other)?)))),
    })
}

fn whole(call: &Invocation<'_>, of: impl Fn(Number) -> i128) -> Result<Output, FhirPathError> {
    of_numbers(call, |_, value| {
        Ok(i32::try_from(of(number_of(value)?)).ok().map(Computed::Integer))
    })
}

fn round(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let digits = if call.has(0) { Some(call.integers(0)?) } else { None };
    of_numbers(call, |row, value| {
        let number = number_of(value)?;
        let scale = match digits.as_ref().map(|digits| digits[row]) {
            None => 0,
            Some(Some(scale)) => u32::try_from(scale).map_err(|_| "expects a precision of 0 or more".to_string())?,
            Some(None) => 0,
        };
        Ok(Some(Computed::Decimal(number.rounded(scale))))
    })
}

/// Converts a floating point result to a decimal with 15 digits. The result is empty if the number is infinite or not a
/// number.
fn rounded(value: f64) -> RowResult<Computed> {
    Ok(Number::from_f64(value).map(Computed::Decimal))
}

fn real(call: &Invocation<'_>, of: impl Fn(f64) -> f64) -> Result<Output, FhirPathError> {
    of_numbers(call, |_, value| rounded(of(number_of(value)?.to_f64())))
}

fn log(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let bases = call.value(0)?;
    of_numbers(call, |row, value| match call.scalar(&bases, row) {
        Some(base) if base.is_beyond() => Ok(None),
        Some(base) => match number_of(base)?.to_f64() {
            // There is no logarithm to these bases, so the result is empty.
            base if base <= 0.0 || base == 1.0 => number_of(value).map(|_| None),
            base => rounded(number_of(value)?.to_f64().log(base)),
        },
        None => Ok(None),
    })
}

fn power(call: &Invocation<'_>) -> Result<Output, FhirPathError> {
    let exponents = call.value(0)?;
    of_numbers(call, |row, value| {
        let Some(exponent) = call.scalar(&exponents, row).filter(|exponent| !exponent.is_beyond()) else {
            return Ok(None);
        };
        let long = matches!(value, Scalar::Long(_)) || matches!(exponent, Scalar::Long(_));
        let is_whole = |scalar: Scalar<'_>| matches!(scalar, Scalar::Integer(_) | Scalar::Long(_));
        let whole = is_whole(value) && is_whole(exponent);
        let (base, exponent) = (number_of(value)?, number_of(exponent)?);
        let exact = exponent
            .to_i32()
            .and_then(|exponent| u32::try_from(exponent).ok())
            .and_then(|exponent| base.to_the_power(exponent));
        let Some(exact) = exact else {
            return rounded(base.to_f64().powf(exponent.to_f64()));
        };
        let kept = if !whole {
            None
        } else if !long {
            i32::try_from(exact.mantissa).ok().map(Computed::Integer)
        } else {
            i64::try_from(exact.mantissa).ok().map(Computed::Long)
        };
        Ok(Some(kept.unwrap_or(Computed::Decimal(exact))))
    })
}
