//! `+ - * / div mod &` and signs. Numbers are decimals, not floating point. A quotient has at most 8 digits after the
//! decimal point, and a product at most 28. An overflow or a division by zero yields an empty result. Dates and times
//! accept `+` and `-` with a quantity of time.

use crate::fhirpath::compile::node::Shape;
use crate::fhirpath::compile::types::{ItemType, System};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::interpreter::Frame;
use crate::fhirpath::syntax::ast::Operator;
use crate::fhirpath::values::builder::{Builder, Computed};
use crate::fhirpath::values::calendar;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::number::Number;
use crate::fhirpath::values::quantity::Quantity;
use crate::fhirpath::values::scalar::Scalar;

/// Returns the result types of an arithmetic operator. Returns an error if the operator is defined for no combination
/// of the operands' possible types.
pub(super) fn shape(operator: Operator, left: &Shape, right: &Shape, at: Position) -> Result<Shape, FhirPathError> {
    if left.sources.is_empty() || right.sources.is_empty() {
        return Ok(Shape::default());
    }
    let mut found = Shape::default();
    for one in &left.sources {
        for other in &right.sources {
            let (Some(one), Some(other)) = (one.item_type.system(), other.item_type.system()) else {
                continue;
            };
            if let Some(result) = result_type(operator, one, other) {
                found.add(&Shape::one(ItemType::System(result)));
            }
        }
    }
    if found.sources.is_empty() {
        let operands = format!("{} and {}", left.names(), right.names());
        return Err(FhirPathError::Operands {
            at,
            operation: operator.symbol().to_string(),
            operands,
        });
    }
    Ok(found)
}

fn result_type(operator: Operator, left: System, right: System) -> Option<System> {
    use System::{Date, DateTime, Decimal, Integer, Long, Quantity, String, Time};
    match (operator, left, right) {
        (Operator::Divide, Integer | Long | Decimal, Integer | Long | Decimal) => Some(Decimal),
        (_, Integer, Integer) => Some(Integer),
        (_, Integer | Long, Integer | Long) => Some(Long),
        (Operator::Div, Integer | Long | Decimal, Integer | Long | Decimal) => Some(Integer),
        (_, Integer | Long | Decimal, Integer | Long | Decimal) => Some(Decimal),
        (Operator::Div | Operator::Mod, _, _) => None,
        (Operator::Add, String, String) => Some(String),
        (Operator::Add | Operator::Subtract, Date | DateTime | Time, Quantity) => Some(left),
        (_, Quantity, Quantity | Integer | Long | Decimal) | (_, Integer | Long | Decimal, Quantity) => Some(Quantity),
        _ => None,
    }
}

/// Evaluates an arithmetic operator, or `&`.
pub(super) fn evaluate(
    frame: &Frame<'_>,
    operator: Operator,
    left: &Collection,
    right: &Collection,
    at: Position,
) -> Result<Collection, FhirPathError> {
    let symbol = operator.symbol();
    let mut builder = Builder::new(left.rows());
    for row in 0..left.rows() {
        let one = super::comparison::single(frame, left, row, symbol, at);
        let other = super::comparison::single(frame, right, row, symbol, at);
        let result = match (operator, one, other) {
            (Operator::Concatenate, one, other) => concatenate(one, other),
            (_, Some(one), Some(other)) => compute(operator, one, other),
            _ => Ok(None),
        };
        match result {
            Ok(Some(value)) => builder.push(value),
            Ok(None) => {}
            Err(problem) => frame.fault(
                row,
                FhirPathError::Value {
                    at,
                    operation: symbol,
                    problem,
                },
            ),
        }
        builder.end_row();
    }
    builder.finish()
}

type Computation = Result<Option<Computed>, String>;

/// Evaluates `&`. An empty operand counts as an empty string.
fn concatenate(left: Option<Scalar<'_>>, right: Option<Scalar<'_>>) -> Computation {
    let text = |side: Option<Scalar<'_>>| match side {
        None => Ok(String::new()),
        Some(Scalar::Text(text)) => Ok(text.to_string()),
        Some(other) => other
            .to_text()
            .ok_or_else(|| format!("expects Strings, not a {}", other.kind())),
    };
    joined(&text(left)?, &text(right)?)
}

/// The maximum length of a computed string in bytes.
const MAX_TEXT: usize = 1 << 20;

fn joined(left: &str, right: &str) -> Computation {
    if left.len() + right.len() <= MAX_TEXT {
        Ok(Some(Computed::String(format!("{left}{right}"))))
    } else {
        Err(format!("a text of more than {MAX_TEXT} bytes"))
    }
}

fn compute(operator: Operator, left: Scalar<'_>, right: Scalar<'_>) -> Computation {
    let wrong = || format!("is not defined for {} and {}", left.kind(), right.kind());
    match (left, right) {
        // A number with too many digits for computations yields an empty result, as an overflow does.
        (Scalar::Beyond(..), _) | (_, Scalar::Beyond(..)) => match (left.system(), right.system()) {
            (Some(one), Some(other)) if result_type(operator, one, other).is_some() => Ok(None),
            _ => Err(wrong()),
        },
        (Scalar::Integer(one), Scalar::Integer(other)) if operator != Operator::Divide => {
            Ok(integers(operator, one, other).map(Computed::Integer))
        }
        (Scalar::Integer(_) | Scalar::Long(_), Scalar::Integer(_) | Scalar::Long(_))
            if operator != Operator::Divide =>
        {
            let long = |side: Scalar<'_>| match side {
                Scalar::Integer(value) => i64::from(value),
                Scalar::Long(value) => value,
                _ => 0,
            };
            Ok(longs(operator, long(left), long(right)).map(Computed::Long))
        }
        (
            Scalar::Integer(_) | Scalar::Long(_) | Scalar::Decimal(_),
            Scalar::Integer(_) | Scalar::Long(_) | Scalar::Decimal(_),
        ) => match (left.number(), right.number()) {
            (Some(one), Some(other)) => Ok(numbers(operator, one, other)),
            _ => Err(wrong()),
        },
        (Scalar::Text(one), Scalar::Text(other)) if operator == Operator::Add => joined(one, other),
        (Scalar::Temporal(kind, text), Scalar::Quantity(by)) => match operator {
            Operator::Add => calendar::add(kind, text, &by),
            Operator::Subtract => calendar::add(kind, text, &by.with_value(by.value.negate())),
            _ => Err(wrong()),
        },
        (Scalar::Quantity(_), _) | (_, Scalar::Quantity(_)) => match (left.quantity(), right.quantity()) {
            (Some(one), Some(other)) => quantities(operator, &one, &other).ok_or_else(wrong),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

fn integers(operator: Operator, left: i32, right: i32) -> Option<i32> {
    match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Div => left.checked_div(right),
        _ => left.checked_rem(right),
    }
}

fn longs(operator: Operator, left: i64, right: i64) -> Option<i64> {
    match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::Div => left.checked_div(right),
        _ => left.checked_rem(right),
    }
}

fn numbers(operator: Operator, left: Number, right: Number) -> Option<Computed> {
    let number = match operator {
        Operator::Add => left.add(right),
        Operator::Subtract => left.subtract(right),
        Operator::Multiply => left.multiply(right),
        Operator::Divide => left.divide(right),
        Operator::Div => return i32::try_from(left.div(right)?).ok().map(Computed::Integer),
        _ => left.modulo(right),
    };
    number.map(Computed::Decimal)
}

/// Computes with quantities. The outer `None` means that the operator is not defined for quantities. The inner `None`
/// means that the result is empty, for example because the units do not fit.
fn quantities<'q>(operator: Operator, left: &Quantity<'q>, right: &Quantity<'q>) -> Option<Option<Computed>> {
    let of = |value: Option<Number>, unit: Option<String>| value.map(|value| Computed::Quantity { value, unit });
    let sum = |of: Option<Quantity<'_>>| of.map(|sum| Computed::quantity(&sum));
    Some(match operator {
        Operator::Add => sum(left.add(right)),
        Operator::Subtract => sum(left.add(&right.with_value(right.value.negate()))),
        Operator::Multiply => left
            .combined_unit(right, '.')
            .and_then(|unit| of(left.value.multiply(right.value), Some(unit))),
        Operator::Divide => match left.combined_unit(right, '/') {
            Some(unit) => of(left.value.divide(right.value), Some(unit)),
            None => left
                .ratio(right)
                .and_then(|ratio| of(Some(ratio), Some("1".to_string()))),
        },
        _ => return None,
    })
}

/// Returns the result types of a sign. Returns an error if the operand is never a number.
pub(in crate::fhirpath) fn sign_shape(operand: &Shape, at: Position) -> Result<Shape, FhirPathError> {
    if operand.sources.is_empty() {
        return Ok(Shape::default());
    }
    let mut found = Shape::default();
    for source in &operand.sources {
        if let Some(system @ (System::Integer | System::Long | System::Decimal | System::Quantity)) =
            source.item_type.system()
        {
            found.add(&Shape::one(ItemType::System(system)));
        }
    }
    if found.sources.is_empty() {
        return Err(FhirPathError::Operands {
            at,
            operation: "a sign".to_string(),
            operands: operand.names(),
        });
    }
    Ok(found)
}

/// Evaluates a sign.
pub(in crate::fhirpath) fn sign(
    frame: &Frame<'_>,
    on: Collection,
    negative: bool,
    at: Position,
) -> Result<Collection, FhirPathError> {
    let symbol = if negative { "-" } else { "+" };
    let mut builder = Builder::new(on.rows());
    for row in 0..on.rows() {
        let value = match super::comparison::single(frame, &on, row, symbol, at) {
            None | Some(Scalar::Beyond(..)) => None,
            Some(value @ (Scalar::Integer(_) | Scalar::Long(_) | Scalar::Decimal(_) | Scalar::Quantity(_)))
                if !negative =>
            {
                value.computed()
            }
            Some(Scalar::Long(value)) => value.checked_neg().map(Computed::Long),
            Some(Scalar::Integer(value)) => value.checked_neg().map(Computed::Integer),
            Some(Scalar::Decimal(value)) => Some(Computed::Decimal(value.negate())),
            Some(Scalar::Quantity(quantity)) => Some(Computed::quantity(&quantity.with_value(quantity.value.negate()))),
            Some(other) => {
                let problem = format!("is not defined for a {}", other.kind());
                frame.fault(
                    row,
                    FhirPathError::Value {
                        at,
                        operation: symbol,
                        problem,
                    },
                );
                None
            }
        };
        if let Some(value) = value {
            builder.push(value);
        }
        builder.end_row();
    }
    builder.finish()
}
