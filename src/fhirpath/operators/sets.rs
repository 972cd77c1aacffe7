//! `|`, `in`, `contains`, and what rests on the same notion of sameness: two items are the same if `=` says so for sure, or if
//! neither has a value.

use std::hash::{Hash, Hasher};

use arrow::array::{Array, AsArray, StructArray};
use arrow::datatypes::{DataType, Int32Type};
use rustc_hash::{FxHashMap, FxHasher};

use super::equality::items_equal;
use crate::fhirpath::collection::{Collection, Offsets};
use crate::fhirpath::combine::side_by_side;
use crate::fhirpath::error::Position;
use crate::fhirpath::eval::Frame;
use crate::fhirpath::items::Items;
use crate::fhirpath::scalar::Scalar;
use crate::fhirpath::truth::Truth;
use crate::fhirpath::values::Values;

/// Runs up to this length are searched item by item; longer ones by hash.
const SHORT: usize = 16;

/// `left | right`: the items of both, each once.
pub(in crate::fhirpath) fn union(left: &Collection, right: &Collection) -> Collection {
    distinct(&side_by_side(&[left.clone(), right.clone()]))
}

/// Each item once, at its first place.
pub(in crate::fhirpath) fn distinct(input: &Collection) -> Collection {
    if matches!(input.offsets(), Offsets::Each(_)) {
        return input.clone();
    }
    let mut offsets = Vec::with_capacity(input.rows() + 1);
    let mut places: Vec<u32> = Vec::with_capacity(input.len());
    offsets.push(0i32);
    for row in 0..input.rows() {
        let start = places.len();
        let range = input.range(row);
        if range.len() <= SHORT {
            for item in range {
                if !places[start..].iter().any(|kept| same(input, item, *kept as usize)) {
                    places.push(item as u32);
                }
            }
        } else {
            let mut buckets: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
            for item in range {
                let bucket = buckets.entry(digest(input, item)).or_default();
                if !bucket.iter().any(|kept| same(input, item, *kept as usize)) {
                    bucket.push(item as u32);
                    places.push(item as u32);
                }
            }
        }
        offsets.push(places.len() as i32);
    }
    if places.len() == input.len() {
        return input.clone();
    }
    input.take(Offsets::list(offsets), places)
}

fn same(input: &Collection, one: usize, other: usize) -> bool {
    let ((left, at), (right, other)) = (input.item(one), input.item(other));
    items_same(left, at, right, other)
}

/// Whether two items count as one.
pub(in crate::fhirpath) fn items_same(left: &Items, at: usize, right: &Items, other: usize) -> bool {
    match items_equal(left, at, right, other) {
        Some(equal) => equal,
        None => !left.has_value(at) && !right.has_value(other) && left.slot(at) == right.slot(other),
    }
}

/// Items that are the same have the same digest.
fn digest(input: &Collection, item: usize) -> u64 {
    let (items, item) = input.item(item);
    let mut hasher = FxHasher::default();
    match items.scalar(item) {
        Some(Scalar::Text(text)) => text.hash(&mut hasher),
        Some(Scalar::Boolean(value)) => value.hash(&mut hasher),
        Some(scalar @ (Scalar::Integer(_) | Scalar::Decimal(_))) => {
            let number = scalar.number().map(|number| number.trimmed());
            number.map(|number| (number.mantissa, number.scale)).hash(&mut hasher);
        }
        Some(scalar @ Scalar::Temporal(_, text)) => match scalar.moment() {
            Some(moment) => moment.start().hash(&mut hasher),
            None => text.hash(&mut hasher),
        },
        Some(Scalar::Other) => match items.values() {
            Values::Struct(array) => hash_struct(array, items.slot(item), &mut hasher),
            Values::Json(texts) => super::resources::plain(texts.value(items.slot(item))).hash(&mut hasher),
            _ => {}
        },
        Some(Scalar::Quantity(_) | Scalar::Beyond(..)) | None => {}
    }
    hasher.finish()
}

/// The texts and numbers in a struct and the structs in it. Absent columns and null ones count alike, and the engine's own for
/// nothing, as in equality.
fn hash_struct(array: &StructArray, slot: usize, hasher: &mut FxHasher) {
    for (field, column) in array.fields().iter().zip(array.columns()) {
        if field.name().contains("__") || column.is_null(slot) {
            continue;
        }
        match column.data_type() {
            DataType::Utf8 => (field.name(), column.as_string::<i32>().value(slot)).hash(hasher),
            DataType::Int32 => (field.name(), column.as_primitive::<Int32Type>().value(slot)).hash(hasher),
            DataType::Struct(_) => hash_struct(column.as_struct(), slot, hasher),
            DataType::List(_) => (field.name(), column.as_list::<i32>().value_length(slot)).hash(hasher),
            _ => {}
        }
    }
}

/// Whether a row's `wanted` item is among its items in `collection`.
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
