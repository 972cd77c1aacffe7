//! Sort keys: the one value of a parameter that decides a row's position (R4 search, 3.1.1.5.2).
//!
//! If a row has several values, the minimum decides its position in ascending order, and the maximum in descending
//! order. Dates are sorted by their start in ascending order, and by their end in descending order. Rows without a
//! value come last in both orders. Rows with equal keys are ordered by their ids.

use std::sync::Arc;

use arrow::array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;

use super::super::SearchError;
use super::super::parameters::query::SortKey;
use super::super::parameters::values::fold;
use super::matcher::{Samples, date_interval, number, only_text};
use crate::fhir::search_parameter::SearchType;
use crate::fhir::storage::{NUMBER_PRECISION, NUMBER_SCALE, REFERENCE_ID, REFERENCE_TYPE};
use crate::fhirpath::{Collection, Typed};

/// Returns the Arrow type of a key.
pub(in crate::search) fn data_type(key: &SortKey) -> DataType {
    match key.compiled.parameter.search_type {
        SearchType::Date => DataType::Int64,
        SearchType::Number | SearchType::Quantity => DataType::Decimal128(NUMBER_PRECISION, NUMBER_SCALE),
        _ => DataType::Utf8,
    }
}

/// Computes the key of each row of a batch. The batch must have the columns of the key's program.
pub(in crate::search) fn keys(key: &SortKey, batch: &RecordBatch) -> Result<ArrayRef, SearchError> {
    let compiled = &key.compiled;
    let values = compiled
        .program
        .evaluate(batch)
        .map_err(|source| SearchError::Expression {
            parameter: compiled.parameter.code.to_string(),
            source,
        })?
        .lenient();
    Ok(match compiled.parameter.search_type {
        SearchType::Date => Arc::new(Int64Array::from(dates(&values, key.descending))),
        SearchType::Number | SearchType::Quantity => {
            let numbers = Decimal128Array::from(numbers(&values, key.descending));
            Arc::new(numbers.with_precision_and_scale(NUMBER_PRECISION, NUMBER_SCALE)?)
        }
        _ => Arc::new(StringArray::from(texts(
            &values,
            compiled.parameter.search_type,
            key.descending,
        ))),
    })
}

fn dates(values: &Collection, descending: bool) -> Vec<Option<i64>> {
    let mut keys = vec![None; values.rows()];
    for part in values.typed() {
        let interval = date_interval(&part.items, part.items.item_type().name());
        each(&part, &mut keys, descending, |item| {
            interval(item).map(|interval| if descending { interval.end } else { interval.start })
        });
    }
    keys
}

fn numbers(values: &Collection, descending: bool) -> Vec<Option<i128>> {
    let mut keys = vec![None; values.rows()];
    for part in values.typed() {
        match part.items.item_type().name() {
            "Range" => {
                let limits = number::Limits::of(&part.items);
                each(&part, &mut keys, descending, |item| {
                    limits.bound(item, descending)?.nearest()
                });
            }
            "SampledData" => {
                let samples = Samples::of(&part.items);
                each(&part, &mut keys, descending, |item| samples.bound(item, descending));
            }
            name if part.items.item_type().is_fhir("Quantity") || name == "Money" => {
                let quantities = part.items.child("value");
                each(&part, &mut keys, descending, |item| {
                    number::only_number(&quantities, item)?.nearest()
                });
            }
            _ => each(&part, &mut keys, descending, |item| {
                number::stored(&part.items, item)?.nearest()
            }),
        }
    }
    keys
}

fn texts(values: &Collection, search_type: SearchType, descending: bool) -> Vec<Option<String>> {
    let mut keys = vec![None; values.rows()];
    for part in values.typed() {
        let items = &part.items;
        match items.item_type().name() {
            "CodeableConcept" => {
                let codings = items.child("coding");
                let codes = codings.single().map(|codings| codings.child("code"));
                each(&part, &mut keys, descending, |item| {
                    let codes = codes.as_ref()?;
                    codings
                        .range(item)
                        .find_map(|coding| only_text(codes, coding))
                        .map(str::to_owned)
                });
            }
            "Coding" => only_child(&part, "code", &mut keys, descending),
            "Identifier" | "ContactPoint" => only_child(&part, "value", &mut keys, descending),
            "Reference" => {
                let (types, ids) = (items.child(REFERENCE_TYPE), items.child(REFERENCE_ID));
                let references = items.child("reference");
                each(&part, &mut keys, descending, |item| {
                    match (only_text(&types, item), only_text(&ids, item)) {
                        (Some(resource_type), Some(id)) => Some(format!("{resource_type}/{id}")),
                        _ => only_text(&references, item).map(str::to_owned),
                    }
                });
            }
            "HumanName" => in_order(&part, &["family", "given", "text"], &mut keys, descending),
            "Address" => {
                in_order(
                    &part,
                    &["country", "state", "city", "line", "postalCode", "text"],
                    &mut keys,
                    descending,
                );
            }
            "boolean" | "Boolean" => each(&part, &mut keys, descending, |item| {
                items.boolean(item).map(|value| value.to_string())
            }),
            _ if search_type == SearchType::String => {
                each(&part, &mut keys, descending, |item| items.text(item).map(fold))
            }
            _ => each(&part, &mut keys, descending, |item| items.text(item).map(str::to_owned)),
        }
    }
    keys
}

fn only_child(part: &Typed, name: &str, keys: &mut [Option<String>], descending: bool) {
    let children = part.items.child(name);
    each(part, keys, descending, |item| {
        only_text(&children, item).map(str::to_owned)
    });
}

/// Merges the key of each item into the key of its row, like `each`. The key of an item is the concatenation of the
/// folded texts of the children `names`.
fn in_order(part: &Typed, names: &[&str], keys: &mut [Option<String>], descending: bool) {
    let children: Vec<Collection> = names.iter().map(|name| part.items.child(name)).collect();
    each(part, keys, descending, |item| {
        let mut key = String::new();
        for children in &children {
            for at in children.range(item) {
                let (items, item) = children.item(at);
                if let Some(text) = items.text(item) {
                    key.push_str(&fold(text));
                    key.push('\u{1}');
                }
            }
        }
        (!key.is_empty()).then_some(key)
    });
}

/// Merges the key of each item into the key of its row, which is the minimum of the items' keys, or the maximum if
/// `descending`.
fn each<K: Ord>(part: &Typed, keys: &mut [Option<K>], descending: bool, of: impl Fn(usize) -> Option<K>) {
    for (row, best) in keys.iter_mut().enumerate() {
        for item in part.offsets.range(row) {
            let Some(key) = of(item) else { continue };
            let better = best
                .as_ref()
                .is_none_or(|best| if descending { key > *best } else { key < *best });
            if better {
                *best = Some(key);
            }
        }
    }
}
