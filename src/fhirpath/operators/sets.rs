//! `|`, `in` and `contains`, and helpers of the functions on sets. Two items are identical if `=` is certainly true
//! of them, or if neither has a value and both have the same id and extensions.

use std::ops::Range;

use arrow::array::BooleanBufferBuilder;
use arrow::buffer::BooleanBuffer;

use super::equality::{items_equal, items_same};
use super::hashing::{SHORT, Table};
use crate::fhirpath::error::{FhirPathError, Position};
use crate::fhirpath::evaluate::combine::side_by_side;
use crate::fhirpath::evaluate::interpreter::Frame;
use crate::fhirpath::evaluate::work::Work;
use crate::fhirpath::values::collection::{Collection, Offsets};
use crate::fhirpath::values::truth::Truth;

/// Evaluates `left | right`: the items of both, without duplicates.
pub(in crate::fhirpath) fn union(
    left: &Collection,
    right: &Collection,
    work: &Work,
) -> Result<Collection, FhirPathError> {
    distinct(&side_by_side(&[left.clone(), right.clone()]), work)
}

/// Returns the items of each row without duplicates. Only the first of several identical items remains.
pub(in crate::fhirpath) fn distinct(input: &Collection, work: &Work) -> Result<Collection, FhirPathError> {
    if matches!(input.offsets(), Offsets::Each(_)) {
        return Ok(input.clone());
    }
    work.spend(input.comparing())?;
    let mut offsets = Vec::with_capacity(input.rows() + 1);
    let mut places: Vec<u32> = Vec::with_capacity(input.len());
    offsets.push(0i32);
    for row in 0..input.rows() {
        let start = places.len();
        let range = input.range(row);
        if range.len() <= SHORT {
            work.spend(comparisons(input, &range, range.len()))?;
            for item in range {
                if !places[start..].iter().any(|kept| same(input, item, *kept as usize)) {
                    places.push(item as u32);
                }
            }
        } else {
            let mut kept = Table::new(input, work);
            for item in range {
                if kept.insert(item)? {
                    places.push(item as u32);
                }
            }
        }
        offsets.push(places.len() as i32);
    }
    Ok(if places.len() == input.len() {
        input.clone()
    } else {
        input.take(Offsets::list(offsets), places)
    })
}

/// Estimates the work of comparing each item of the row `items` with `others` other items.
fn comparisons(of: &Collection, items: &Range<usize>, others: usize) -> usize {
    match items.len() {
        0 | 1 => 0,
        count => {
            count
                .saturating_mul(others)
                .saturating_mul(of.item(items.start).0.weight())
                / 2
        }
    }
}

/// Returns for each item of `of` whether the same row of `collection` has an identical item.
pub(in crate::fhirpath) fn held(
    collection: &Collection,
    of: &Collection,
    work: &Work,
) -> Result<BooleanBuffer, FhirPathError> {
    work.spend(collection.comparing() + of.comparing())?;
    let mut held = BooleanBufferBuilder::new(of.len());
    for row in 0..of.rows() {
        let (within, items) = (collection.range(row), of.range(row));
        if within.len().min(items.len()) <= SHORT {
            work.spend(comparisons(of, &items, within.len()))?;
            for item in items {
                let (one, at) = of.item(item);
                held.append(within.clone().any(|other| {
                    let (others, other) = collection.item(other);
                    items_same(one, at, others, other)
                }));
            }
        } else {
            let mut table = Table::new(collection, work);
            for item in within {
                table.insert(item)?;
            }
            for item in items {
                held.append(table.holds(of, item)?);
            }
        }
    }
    Ok(held.finish())
}

fn same(input: &Collection, one: usize, other: usize) -> bool {
    let ((left, at), (right, other)) = (input.item(one), input.item(other));
    items_same(left, at, right, other)
}

/// Returns for each row whether the row's single item in `wanted` equals one of the row's items in `collection`. The
/// result is unknown for a row in which `wanted` is empty.
pub(super) fn contains(
    frame: &Frame<'_>,
    collection: &Collection,
    wanted: &Collection,
    operation: &'static str,
    at: Position,
) -> Truth {
    Truth::collect(collection.rows(), |row| {
        let range = wanted.range(row);
        match range.len() {
            0 => None,
            1 => {
                let (items, item) = wanted.item(range.start);
                Some(collection.range(row).any(|other| {
                    let (others, other) = collection.item(other);
                    items_equal(items, item, others, other) == Some(true)
                }))
            }
            count => {
                frame.not_single(row, count, operation, at);
                None
            }
        }
    })
}
