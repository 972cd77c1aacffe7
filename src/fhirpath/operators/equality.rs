//! `=`, `!=`, `~`, `!~`, and the equality of items, which `|`, `distinct()` and `in` use.

use std::ops::Range;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder, RecordBatch, StringArray, StructArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;

use super::comparison::order;
use super::hashing::{self, SHORT};
use crate::fhirpath::compile::types::System;
use crate::fhirpath::error::FhirPathError;
use crate::fhirpath::evaluate::work::Work;
use crate::fhirpath::values::collection::{Body, Collection, Offsets};
use crate::fhirpath::values::columns::Values;
use crate::fhirpath::values::items::{Index, Items};
use crate::fhirpath::values::quantity::equivalent_numbers;
use crate::fhirpath::values::scalar::Scalar;
use crate::fhirpath::values::truth::Truth;

/// Evaluates `=`. A row is unknown if either side is empty. Otherwise both sides must have equal items in the same
/// order.
pub(in crate::fhirpath) fn equal(left: &Collection, right: &Collection) -> Truth {
    if let Some(truth) = text_to_constant(left, right).or_else(|| text_to_constant(right, left)) {
        return truth;
    }
    Truth::collect(left.rows(), |row| {
        let (of_left, of_right) = (left.range(row), right.range(row));
        if of_left.is_empty() || of_right.is_empty() {
            return None;
        }
        if of_left.len() != of_right.len() {
            return Some(false);
        }
        let mut all = Some(true);
        for (one, other) in of_left.zip(of_right) {
            let ((one, one_at), (other, other_at)) = (left.item(one), right.item(other));
            match items_equal(one, one_at, other, other_at) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => all = None,
            }
        }
        all
    })
}

/// Evaluates `=` faster if the left side has at most one text per row and the right side is one string literal. `None`
/// in any other case, and if the column of the texts has nulls.
fn text_to_constant(left: &Collection, right: &Collection) -> Option<Truth> {
    let (Body::One(items), Body::One(constant)) = (&left.body, &right.body) else {
        return None;
    };
    let (Values::Text(texts), Values::Text(wanted)) = (items.values(), constant.values()) else {
        return None;
    };
    let (Index::Constant(slot), Offsets::Each(_)) = (&constant.index, right.offsets()) else {
        return None;
    };
    if left.rows() == 0 || texts.null_count() > 0 || wanted.is_null(*slot as usize) {
        return None;
    }
    let wanted = wanted.value(*slot as usize).as_bytes();
    let same = matches(texts, &items.index, items.len(), wanted);
    match left.offsets() {
        Offsets::Each(_) => Some(Truth::known(same)),
        Offsets::List(offsets) => {
            let rows = left.rows();
            if offsets.windows(2).any(|pair| pair[1] - pair[0] > 1) {
                return None;
            }
            let known = BooleanBuffer::collect_bool(rows, |row| offsets[row] < offsets[row + 1]);
            let yes = BooleanBuffer::collect_bool(rows, |row| {
                offsets[row] < offsets[row + 1] && same.value(offsets[row] as usize)
            });
            Some(Truth::partly(yes, known))
        }
    }
}

/// Returns for each item whether its text equals `wanted`.
fn matches(texts: &StringArray, index: &Index, len: usize, wanted: &[u8]) -> BooleanBuffer {
    let (bounds, bytes) = (texts.value_offsets(), texts.value_data());
    let is = |slot: usize| {
        let (start, end) = (bounds[slot] as usize, bounds[slot + 1] as usize);
        end - start == wanted.len() && &bytes[start..end] == wanted
    };
    match index {
        Index::Identity => BooleanBuffer::collect_bool(len, is),
        Index::Gather(indices) => BooleanBuffer::collect_bool(len, |item| is(indices[item] as usize)),
        Index::Constant(slot) => {
            if is(*slot as usize) {
                BooleanBuffer::new_set(len)
            } else {
                BooleanBuffer::new_unset(len)
            }
        }
    }
}

/// Whether two items are equal. `None` if that is unknown.
pub(in crate::fhirpath) fn items_equal(left: &Items, at: usize, right: &Items, other: usize) -> Option<bool> {
    match (left.scalar(at)?, right.scalar(other)?) {
        (Scalar::Other, Scalar::Other) | (Scalar::Beyond(System::Quantity, _), Scalar::Beyond(System::Quantity, _)) => {
            Some(deep_equal(left, at, right, other))
        }
        (one, other) => scalars_equal(one, other),
    }
}

/// Whether two items are identical. They are if `=` is certainly true of them, or if both have no value but the same id
/// and extensions.
pub(in crate::fhirpath) fn items_same(left: &Items, at: usize, right: &Items, other: usize) -> bool {
    match items_equal(left, at, right, other) {
        Some(equal) => equal,
        None => !left.has_value(at) && !right.has_value(other) && elements_equal(left, at, right, other),
    }
}

pub(in crate::fhirpath) fn scalars_equal(left: Scalar<'_>, right: Scalar<'_>) -> Option<bool> {
    match (left, right) {
        (Scalar::Text(left), Scalar::Text(right)) => Some(left == right),
        (Scalar::Boolean(left), Scalar::Boolean(right)) => Some(left == right),
        (Scalar::Integer(left), Scalar::Integer(right)) => Some(left == right),
        (Scalar::Temporal(kind, left_text), Scalar::Temporal(other, right_text)) => {
            match (left.moment(), right.moment()) {
                (Some(left), Some(right)) => left.equals(&right),
                _ => Some(kind == other && left_text == right_text),
            }
        }
        (Scalar::Beyond(..), _) | (_, Scalar::Beyond(..)) => match order(left, right) {
            Ok(order) => order.map(|order| order.is_eq()),
            Err(()) => Some(false),
        },
        (Scalar::Quantity(_), _) | (_, Scalar::Quantity(_)) => match (left.quantity(), right.quantity()) {
            (Some(left), Some(right)) => left.equals(&right),
            _ => Some(false),
        },
        _ => match (left.number(), right.number()) {
            (Some(left), Some(right)) => Some(left.compare(right).is_eq()),
            _ => Some(false),
        },
    }
}

/// Evaluates `~`, which ignores the order of items, case and the amount of white space, and rounds numbers. Two empty
/// collections are equivalent.
pub(in crate::fhirpath) fn equivalent(
    left: &Collection,
    right: &Collection,
    work: &Work,
) -> Result<Truth, FhirPathError> {
    let mut yes = BooleanBufferBuilder::new(left.rows());
    for row in 0..left.rows() {
        let (of_left, of_right) = (left.range(row), right.range(row));
        yes.append(of_left.len() == of_right.len() && paired(left, of_left, right, of_right, work)?);
    }
    Ok(Truth::known(yes.finish()))
}

fn paired(
    left: &Collection,
    of_left: Range<usize>,
    right: &Collection,
    of_right: Range<usize>,
    work: &Work,
) -> Result<bool, FhirPathError> {
    if of_left.len() > SHORT
        && let Some(paired) = hashing::paired(left, of_left.clone(), right, of_right.clone(), work)?
    {
        return Ok(paired);
    }
    paired_one_by_one(left, of_left, right, of_right, work)
}

/// Whether each item on the left can be paired with an equivalent item on the right, so that no item is used twice.
/// Compares each item with each. The caller checks that both sides have equally many items.
pub(super) fn paired_one_by_one(
    left: &Collection,
    of_left: Range<usize>,
    right: &Collection,
    of_right: Range<usize>,
    work: &Work,
) -> Result<bool, FhirPathError> {
    let mut free: Vec<usize> = of_right.collect();
    for one in of_left {
        let (items, at) = left.item(one);
        if free.len() > SHORT {
            work.spend(free.len().saturating_mul(items.weight()))?;
        }
        let found = free.iter().position(|other| {
            let (others, other) = right.item(*other);
            items_equivalent(items, at, others, other)
        });
        match found {
            Some(found) => free.swap_remove(found),
            None => return Ok(false),
        };
    }
    Ok(true)
}

pub(in crate::fhirpath) fn items_equivalent(left: &Items, at: usize, right: &Items, other: usize) -> bool {
    let (Some(one), Some(another)) = (left.scalar(at), right.scalar(other)) else {
        return !left.has_value(at) && !right.has_value(other);
    };
    match (one, another) {
        (Scalar::Text(one), Scalar::Text(another)) => one == another || folded(one) == folded(another),
        (Scalar::Temporal(..), Scalar::Temporal(..)) => match (one.moment(), another.moment()) {
            (Some(one), Some(another)) => one.equivalent(&another),
            _ => false,
        },
        (Scalar::Quantity(_), _) | (_, Scalar::Quantity(_)) => match (one.quantity(), another.quantity()) {
            (Some(one), Some(another)) => one.equivalent(&another),
            _ => false,
        },
        (Scalar::Other, Scalar::Other) | (Scalar::Beyond(System::Quantity, _), Scalar::Beyond(System::Quantity, _)) => {
            deep_equal(left, at, right, other)
        }
        _ => match (one.number(), another.number()) {
            (Some(one), Some(another)) => equivalent_numbers(one, another),
            _ => scalars_equal(one, another) == Some(true),
        },
    }
}

pub(super) fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Whether two complex items are equal. Structs are compared column by column.
fn deep_equal(left: &Items, at: usize, right: &Items, other: usize) -> bool {
    match (left.values(), right.values()) {
        (Values::Struct(one), Values::Struct(another)) => structs_equal(one, left.slot(at), another, right.slot(other)),
        (Values::Json(one), Values::Json(another)) => {
            super::resources::same(one.value(left.slot(at)), another.value(right.slot(other)))
        }
        (Values::Record(one), Values::Record(another)) => {
            left.item_type() == right.item_type() && records_equal(one, left.slot(at), another, right.slot(other))
        }
        _ => false,
    }
}

/// Whether two rows of tables are the same resource: they have the same id. If neither has an id, all columns are
/// compared.
fn records_equal(left: &RecordBatch, at: usize, right: &RecordBatch, other: usize) -> bool {
    match (id(left, at), id(right, other)) {
        (None, None) => structs_equal(&left.clone().into(), at, &right.clone().into(), other),
        (one, another) => one == another,
    }
}

/// Returns the id of a resource. `None` if it has no id, or if the batch lacks the column.
pub(super) fn id(batch: &RecordBatch, slot: usize) -> Option<&str> {
    let ids = batch.column_by_name("id")?.as_string_opt::<i32>()?;
    ids.is_valid(slot).then(|| ids.value(slot))
}

/// Whether two elements without a value have the same id and extensions. If the column `_x` is missing, it counts as
/// null, because the batch has this column only if one of its rows has a value there.
pub(super) fn elements_equal(left: &Items, at: usize, right: &Items, other: usize) -> bool {
    let element = |items: &Items, item| {
        let (element, slot) = (items.column.element.clone()?, items.slot(item));
        element.is_valid(slot).then_some((element, slot))
    };
    match (element(left, at), element(right, other)) {
        (Some((one, at)), Some((another, other))) => structs_equal(&one, at, &another, other),
        (one, another) => one.is_none() && another.is_none(),
    }
}

/// Whether two structs are equal. A column that one struct lacks counts as null there. The engine's companion columns
/// are ignored, because they are computed from the texts, which are compared.
fn structs_equal(left: &StructArray, at: usize, right: &StructArray, other: usize) -> bool {
    let own = |name: &str| !name.contains("__");
    let same = left
        .fields()
        .iter()
        .zip(left.columns())
        .filter(|(field, _)| own(field.name()))
        .all(|(field, column)| match right.column_by_name(field.name()) {
            Some(another) => slots_equal(column, at, another, other),
            None => column.is_null(at),
        });
    let more = || {
        right.fields().iter().zip(right.columns()).all(|(field, column)| {
            !own(field.name()) || left.column_by_name(field.name()).is_some() || column.is_null(other)
        })
    };
    same && more()
}

fn slots_equal(left: &ArrayRef, at: usize, right: &ArrayRef, other: usize) -> bool {
    if left.is_null(at) && right.is_null(other) {
        return true;
    } else if left.is_null(at) || right.is_null(other) {
        return false;
    }
    match (left.data_type(), right.data_type()) {
        (DataType::Utf8, DataType::Utf8) => left.as_string::<i32>().value(at) == right.as_string::<i32>().value(other),
        (DataType::Boolean, DataType::Boolean) => left.as_boolean().value(at) == right.as_boolean().value(other),
        (DataType::Int32, DataType::Int32) => {
            let of = |array: &ArrayRef, slot| array.as_primitive::<arrow::datatypes::Int32Type>().value(slot);
            of(left, at) == of(right, other)
        }
        (DataType::Struct(_), DataType::Struct(_)) => structs_equal(left.as_struct(), at, right.as_struct(), other),
        (DataType::List(_), DataType::List(_)) => {
            let (left, right) = (left.as_list::<i32>().value(at), right.as_list::<i32>().value(other));
            left.len() == right.len() && (0..left.len()).all(|slot| slots_equal(&left, slot, &right, slot))
        }
        _ => false,
    }
}
