//! `<`, `<=`, `>`, `>=`: text, numbers, dates of unequal precision, quantities of commensurable units.

use std::cmp::Ordering;

use crate::fhir::decimal::Decimal;
use crate::fhirpath::compile::types::System;
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::interpreter::Frame;
use crate::fhirpath::syntax::ast::Operator;
use crate::fhirpath::values::collection::Collection;
use crate::fhirpath::values::scalar::Scalar;
use crate::fhirpath::values::truth::Truth;

/// The result is unknown if either side is empty or their order is unknown. It is an error if they are of different
/// kinds.
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

/// The value of a row's only item. Several items are an error.
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

/// The order of two values. `Err` if they cannot be compared at all.
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

/// The order of two numbers if one of them is too large for computations. Their texts decide the order. Quantities then
/// have no known order.
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
