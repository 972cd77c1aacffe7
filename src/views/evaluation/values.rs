//! Returns the values of a column's expression as an Arrow array. Also returns, for each row of the column's context,
//! the slot of the row's value in this array. Values that already have the output's form are not copied here. The
//! output copies them once, when all row numbers are known.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BooleanBuilder, Int32Builder, ListArray, StringBuilder, UInt32Array, new_null_array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;

use super::super::definition::column::{Column, item_field};
use super::super::definition::kind::Kind;
use super::super::error::RunError;
use super::index::{Index, NONE};
use crate::fhirpath::{Collection, Items, Values};

/// A column's values in the rows of a context. For each row, `slots` has the slot of the row's value in `source`.
#[derive(Clone, Debug)]
pub(in crate::views) struct Gathered {
    pub(in crate::views) source: ArrayRef,
    pub(in crate::views) slots: Index,
}

/// Returns one value for each row of `collection`, or one list of values for each row if `column.collection` is set.
pub(in crate::views) fn gather(column: &Column, collection: &Collection) -> Result<Gathered, RunError> {
    if column.collection {
        lists(column, collection)
    } else {
        singles(column, collection)
    }
}

fn singles(column: &Column, collection: &Collection) -> Result<Gathered, RunError> {
    let rows = collection.rows();
    if let Some(row) = (0..rows).find(|row| collection.range(*row).len() > 1) {
        return Err(RunError::SeveralValues {
            at: column.at.clone(),
            column: column.name.clone(),
            count: collection.range(row).len(),
        });
    }
    if collection.is_empty() {
        return Ok(Gathered {
            source: new_null_array(&column.kind.data_type(), 1),
            slots: Index::at(vec![NONE; rows]),
        });
    }
    let native = collection
        .single()
        .and_then(|items| Some((native(column.kind, items)?, items)));
    let full = collection.len() == rows;
    let slots = |slot: &dyn Fn(usize) -> usize| {
        let of = |row: usize| match collection.range(row) {
            range if range.is_empty() => NONE,
            range => slot(range.start) as u32,
        };
        Index::at((0..rows).map(of).collect())
    };
    Ok(match native {
        Some((source, items)) => {
            let same = full && source.len() == rows && (0..rows).all(|row| items.slot(row) == row);
            Gathered {
                source,
                slots: if same {
                    Index::Same
                } else {
                    slots(&|item| items.slot(item))
                },
            }
        }
        None => {
            let source = converted(column, collection)?;
            Gathered {
                source,
                slots: if full { Index::Same } else { slots(&|item| item) },
            }
        }
    })
}

fn lists(column: &Column, collection: &Collection) -> Result<Gathered, RunError> {
    let native = collection
        .single()
        .and_then(|items| Some((native(column.kind, items)?, items)));
    let values = match native {
        Some((source, items)) => {
            let slots = UInt32Array::from_iter_values((0..items.len()).map(|item| items.slot(item) as u32));
            take(&source, &slots, None)?
        }
        None => converted(column, collection)?,
    };
    let offsets = collection.offsets().to_buffer();
    let list = ListArray::try_new(item_field(column.kind.data_type()), offsets, values, None)?;
    Ok(Gathered {
        source: Arc::new(list),
        slots: Index::Same,
    })
}

/// Returns the array of the items' values, if it has the form of the output or can be cast to it. `None` if each item
/// must be converted on its own.
fn native(kind: Kind, items: &Items) -> Option<ArrayRef> {
    let text = |text: &Option<arrow::array::StringArray>| Some(Arc::new(text.clone()?) as ArrayRef);
    match (kind, items.values()) {
        (Kind::Boolean, Values::Boolean(array)) => Some(Arc::new(array.clone())),
        (Kind::Integer, Values::Integer(array)) => Some(Arc::new(array.clone())),
        (Kind::Decimal | Kind::Text, Values::Decimal { text: array, .. }) => text(array),
        (Kind::Text, Values::Text(array)) => Some(Arc::new(array.clone())),
        (Kind::Text, Values::Temporal { text: array, .. }) => text(array),
        (Kind::Decimal | Kind::Text, Values::Integer(array)) => cast(array, &DataType::Utf8).ok(),
        _ => None,
    }
}

/// Converts all items of a collection, one by one.
fn converted(column: &Column, collection: &Collection) -> Result<ArrayRef, RunError> {
    let items = (0..collection.len()).map(|item| collection.item(item));
    Ok(match column.kind {
        Kind::Boolean => {
            let mut builder = BooleanBuilder::new();
            for (items, item) in items {
                builder.append_option(value(column, items, item, boolean)?);
            }
            Arc::new(builder.finish())
        }
        Kind::Integer => {
            let mut builder = Int32Builder::new();
            for (items, item) in items {
                builder.append_option(value(column, items, item, integer)?);
            }
            Arc::new(builder.finish())
        }
        Kind::Decimal | Kind::Text | Kind::Any => {
            let convert = match column.kind {
                Kind::Decimal => decimal,
                Kind::Text => text,
                _ => token,
            };
            let mut builder = StringBuilder::new();
            for (items, item) in items {
                builder.append_option(value(column, items, item, convert)?);
            }
            Arc::new(builder.finish())
        }
    })
}

/// Converts an item to the kind of the column. `None` for an element without a value.
fn value<'i, T>(
    column: &Column,
    items: &'i Items,
    item: usize,
    convert: impl Fn(&'i Items, usize) -> Option<T>,
) -> Result<Option<T>, RunError> {
    if !items.has_value(item) {
        return Ok(None);
    }
    let (at, name, found) = (column.at.clone(), column.name.clone(), items.item_type().name());
    if Kind::of_items(items.item_type()).is_none() {
        return Err(RunError::Complex {
            at,
            column: name,
            found,
        });
    }
    match convert(items, item) {
        Some(value) => Ok(Some(value)),
        None => Err(RunError::Type {
            at,
            column: name,
            expected: column.kind.name(),
            found,
        }),
    }
}

fn boolean(items: &Items, item: usize) -> Option<bool> {
    items.boolean(item).or_else(|| match items.text(item)? {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    })
}

fn integer(items: &Items, item: usize) -> Option<i32> {
    items.integer(item).or_else(|| items.text(item)?.parse().ok())
}

/// Returns a number as written.
fn decimal(items: &Items, item: usize) -> Option<Cow<'_, str>> {
    match items.integer(item) {
        Some(integer) => Some(integer.to_string().into()),
        None => items.text(item).filter(|text| is_number(text)).map(Cow::Borrowed),
    }
}

fn text(items: &Items, item: usize) -> Option<Cow<'_, str>> {
    items.text(item).map(Cow::Borrowed).or_else(|| {
        let boolean = items.boolean(item).map(|value| value.to_string());
        boolean
            .or_else(|| items.integer(item).map(|value| value.to_string()))
            .map(Cow::Owned)
    })
}

/// Returns a value as a JSON token.
fn token(items: &Items, item: usize) -> Option<Cow<'_, str>> {
    let text = text(items, item)?;
    match Kind::of_items(items.item_type())? {
        Kind::Text | Kind::Any => {
            let mut quoted = Vec::with_capacity(text.len() + 2);
            crate::columns::json::push_quoted(&mut quoted, &text);
            String::from_utf8(quoted).ok().map(Cow::Owned)
        }
        _ => Some(text),
    }
}

/// Whether a text is a number by JSON's grammar.
fn is_number(text: &str) -> bool {
    let mut tape = crate::columns::json::Tape::new();
    tape.parse(text.as_bytes())
        .is_ok_and(|value| value.number() == Some(text))
}
