//! The values of one column of a result, written as CSV or JSON.

use std::io::Write;

use arrow::array::{Array, AsArray, BinaryArray, ListArray, StringArray};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::columns::json::push_quoted;

/// The values of one column.
pub(super) struct Cells<'a> {
    array: &'a dyn Array,
    form: Form<'a>,
}

enum Form<'a> {
    Nothing,
    Text(&'a StringArray),
    /// Booleans and numbers, except floating-point numbers. JSON writes them without quotes.
    Token(ArrayFormatter<'a>),
    /// Floating-point numbers. JSON has no NaN and no infinity, so these become null.
    Float(ArrayFormatter<'a>),
    /// Dates, times and values of all other types. JSON writes them as strings.
    Written(ArrayFormatter<'a>),
    Bytes(&'a BinaryArray),
    List(&'a ListArray, Box<Cells<'a>>),
    Struct(Vec<(Vec<u8>, Cells<'a>)>),
}

impl<'a> Cells<'a> {
    pub(super) fn new(array: &'a dyn Array) -> Result<Cells<'a>, ArrowError> {
        let formatter = || ArrayFormatter::try_new(array, &FormatOptions::new());
        let form = match array.data_type() {
            DataType::Null => Form::Nothing,
            DataType::Utf8 => Form::Text(array.as_string()),
            DataType::Binary => Form::Bytes(array.as_binary()),
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Form::Float(formatter()?),
            DataType::Boolean => Form::Token(formatter()?),
            data_type if data_type.is_numeric() => Form::Token(formatter()?),
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Form::List(list, Box::new(Cells::new(list.values().as_ref())?))
            }
            DataType::Struct(fields) => {
                let columns = array.as_struct().columns().iter().zip(fields);
                let cells = columns.map(|(column, field)| {
                    let mut key = Vec::new();
                    push_quoted(&mut key, field.name());
                    key.push(b':');
                    Ok((key, Cells::new(column.as_ref())?))
                });
                Form::Struct(cells.collect::<Result<_, ArrowError>>()?)
            }
            _ => Form::Written(formatter()?),
        };
        Ok(Cells { array, form })
    }

    fn is_null(&self, row: usize) -> bool {
        matches!(self.form, Form::Nothing) || self.array.is_null(row)
    }

    /// Appends a value as a CSV field, before quoting. Null is empty. Lists and structs are JSON.
    pub(super) fn push_csv(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return;
        }
        match &self.form {
            Form::Text(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Form::Bytes(bytes) => out.extend_from_slice(STANDARD.encode(bytes.value(row)).as_bytes()),
            Form::Token(formatter) | Form::Float(formatter) | Form::Written(formatter) => push(formatter, row, out),
            Form::Nothing | Form::List(..) | Form::Struct(_) => self.push_json(row, out),
        }
    }

    /// Appends a value as JSON.
    pub(super) fn push_json(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return out.extend_from_slice(b"null");
        }
        match &self.form {
            Form::Nothing => out.extend_from_slice(b"null"),
            Form::Text(texts) => push_quoted(out, texts.value(row)),
            Form::Bytes(bytes) => push_quoted(out, &STANDARD.encode(bytes.value(row))),
            Form::Token(formatter) => push(formatter, row, out),
            Form::Float(formatter) => {
                let begin = out.len();
                push(formatter, row, out);
                let is_number = out[begin..]
                    .iter()
                    .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte));
                if !is_number {
                    out.truncate(begin);
                    out.extend_from_slice(b"null");
                }
            }
            Form::Written(formatter) => push_quoted(out, &formatter.value(row).to_string()),
            Form::List(list, cells) => {
                let offsets = list.value_offsets();
                out.push(b'[');
                for (place, item) in (offsets[row]..offsets[row + 1]).enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    cells.push_json(item as usize, out);
                }
                out.push(b']');
            }
            // A struct's null fields are left out, as FHIR leaves out elements without a value.
            Form::Struct(columns) => {
                out.push(b'{');
                let there = columns.iter().filter(|(_, cells)| !cells.is_null(row));
                for (place, (key, cells)) in there.enumerate() {
                    if place > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(key);
                    cells.push_json(row, out);
                }
                out.push(b'}');
            }
        }
    }
}

fn push(formatter: &ArrayFormatter<'_>, row: usize, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{}", formatter.value(row));
}
