//! `<`, `<=`, `>`, `>=` on texts, numbers, dates of different precision, and quantities of commensurable units.

use std::cmp::Ordering;

use crate::fhir::decimal::Decimal;
use crate::fhirpath::compile::types::System;
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::interpreter::Frame;
use crate::fhirpath::syntax::ast::Operator;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::scalar::Scalar;
use crate::fhirpath::values::truth::Truth;

/// Compares the single items of each row. The result of a row is unknown if a side is empty or if the order is unknown.
/// A row with several items on a side fails. So does a row with values of different kinds.
pub(super) fn compare(
    frame: &Frame<'_>,
    operator: Operator,
    left: &Collection,
    right: &Collection,
    at: Position,
) -> Truth {
    let symbol = operator.symbol();
    Truth::collect(left.rows(), |row| {
        let left = single(frame, left, row, symbol, at)?;
        let right = single(frame, right, row, symbol, at)?;
        match order(left, right) {
            Ok(order) => order.map(|order| holds(operator, order)),
            Err(()) => {
                let problem = format!("cannot compare {} with {}", left.kind(), right.kind());
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
        }
    })
}

fn holds(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// Returns the value of a row's only item. `None` if the row has no value. Records an error if the row has several
/// items.
pub(super) fn single<'c>(
    frame: &Frame<'_>,
    collection: &'c Collection,
    row: usize,
    operation: &'static str,
    at: Position,
) -> Option<Scalar<'c>> {
    let range = collection.range(row);
    match range.len() {
        0 => None,
        1 => {
            let (items, item) = collection.item(range.start);
            items.scalar(item)
        }
        count => {
            frame.not_single(row, count, operation, at);
            None
        }
    }
}

/// Returns the order of two values. `Ok(None)` if it is unknown. `Err` if values of these kinds have no order.
pub(in crate::fhirpath) fn order(left: Scalar<'_>, right: Scalar<'_>) -> Result<Option<Ordering>, ()> {
    match (left, right) {
        (Scalar::Text(left), Scalar::Text(right)) => Ok(Some(left.cmp(right))),
        (Scalar::Temporal(..), Scalar::Temporal(..)) => match (left.moment(), right.moment()) {
            (Some(left), Some(right)) => Ok(left.compare(&right)),
            _ => Ok(None),
        },
        (Scalar::Beyond(..), _) | (_, Scalar::Beyond(..)) => order_beyond(left, right),
        (Scalar::Quantity(_), _) | (_, Scalar::Quantity(_)) => match (left.quantity(), right.quantity()) {
            (Some(left), Some(right)) => Ok(left.compare(&right)),
            _ => Err(()),
        },
        _ => match (left.number(), right.number()) {
            (Some(left), Some(right)) => Ok(Some(left.compare(right))),
            _ => Err(()),
        },
    }
}

/// Returns the order of two numbers. At least one has too many digits for computations, so compares their texts as
/// decimals. `Ok(None)` if one of them is a Quantity. `Err` if one of them is not a number.
fn order_beyond(left: Scalar<'_>, right: Scalar<'_>) -> Result<Option<Ordering>, ()> {
    let kinds = [left.system(), right.system()];
    let numeric = |kind| {
        matches!(
            kind,
            Some(System::Integer | System::Long | System::Decimal | System::Quantity)
        )
    };
    if !kinds.into_iter().all(numeric) {
        return Err(());
    }
    if kinds.contains(&Some(System::Quantity)) {
        return Ok(None);
    }
    let (Some(left), Some(right)) = (left.to_text(), right.to_text()) else {
        return Ok(None);
    };
    Ok(match (Decimal::parse(&left), Decimal::parse(&right)) {
        (Ok(left), Ok(right)) => Some(left.cmp(&right)),
        _ => None,
    })
}
