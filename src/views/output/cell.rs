//! One column of a batch of rows, as the writers read it.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, ListArray, StringArray};
use arrow::datatypes::Int32Type;

use crate::views::definition::kind::Kind;
use crate::views::error::RunError;

/// The values of a column, by the column's kind.
pub(super) enum Cells<'a> {
    Boolean(&'a BooleanArray),
    Integer(&'a Int32Array),
    /// Texts. A format may put them in quotes.
    Text(&'a StringArray),
    /// Numbers as written, which need no quotes.
    Number(&'a StringArray),
    /// JSON tokens, of a column with values of different kinds.
    Token(&'a StringArray),
    List(&'a ListArray, Box<Cells<'a>>),
}

impl<'a> Cells<'a> {
    pub(super) fn new(kind: Kind, array: &'a ArrayRef) -> Result<Cells<'a>, RunError> {
        let found = match (kind, array.as_list_opt::<i32>()) {
            (_, Some(list)) => Some(Cells::List(list, Box::new(Cells::new(kind, list.values())?))),
            (Kind::Boolean, _) => array.as_boolean_opt().map(Cells::Boolean),
            (Kind::Integer, _) => array.as_primitive_opt::<Int32Type>().map(Cells::Integer),
            (Kind::Text, _) => array.as_string_opt().map(Cells::Text),
            (Kind::Decimal, _) => array.as_string_opt().map(Cells::Number),
            (Kind::Any, _) => array.as_string_opt().map(Cells::Token),
        };
        found.ok_or_else(|| {
            let problem = format!("{} instead of {}", array.data_type(), kind.name());
            RunError::Arrow(arrow::error::ArrowError::SchemaError(problem))
        })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Cells::Boolean(array) => array.is_null(row),
            Cells::Integer(array) => array.is_null(row),
            Cells::Text(array) | Cells::Number(array) | Cells::Token(array) => array.is_null(row),
            Cells::List(array, _) => array.is_null(row),
        }
    }

    /// Appends a value as JSON.
    pub(super) fn push_json(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return out.extend_from_slice(b"null");
        }
        match self {
            Cells::Boolean(array) => out.extend_from_slice(if array.value(row) { b"true" } else { b"false" }),
            Cells::Integer(array) => push_integer(array.value(row), out),
            Cells::Number(array) | Cells::Token(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Cells::Text(array) => crate::columns::json::push_quoted(out, array.value(row)),
            Cells::List(array, cells) => {
                out.push(b'[');
                let offsets = array.value_offsets();
                for (place, item) in (offsets[row]..offsets[row + 1]).enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    cells.push_json(item as usize, out);
                }
                out.push(b']');
            }
        }
    }
}

pub(super) fn push_integer(value: i32, out: &mut Vec<u8>) {
    use std::io::Write;

    // Writing to a vector does not fail.
    let _ = write!(out, "{value}");
}
