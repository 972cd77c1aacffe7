//! The column of one R4 element with its companions, and which JSON values it accepts.
//!
//! Invariant: if `append` returns `false`, the column has as many rows as before, at any depth. So a struct or list
//! without a value does not change its columns. Nothing is stored for a row without a value until the column gets its
//! next value.

use super::clip::Want;
use super::companion;
use super::fields::Struct;
use super::integer::integer;
use super::leaf::{Flags, Numbers, Text};
use super::list::List;
use crate::columns::json::{Tape, Value};
use crate::columns::shape::{ColumnType, Shape, Slot, SlotKind, timestamp};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow::error::ArrowError;

/// The state that all columns of a shredder share.
#[derive(Debug)]
pub(super) struct Context {
    /// How many more columns the shredder may add.
    pub(super) room: usize,
    /// Why the current row must be refused. `None` if there is no reason so far.
    pub(super) fault: Option<Fault>,
    /// A tape for reading a clipped object again. The parser skipped some properties of the object, and one of these
    /// may have a value that makes the object present.
    pub(super) scratch: Tape,
}

impl Context {
    /// Returns a context that allows this many more columns.
    pub(super) fn new(room: usize) -> Context {
        Context {
            room,
            fault: None,
            scratch: Tape::new(),
        }
    }
}

/// A reason to refuse a row.
#[derive(Debug)]
pub(super) enum Fault {
    /// An object has a duplicate property.
    Duplicate(&'static str),
    /// The columns of this property would exceed the allowed number of columns.
    Columns(&'static str),
}

/// The column of one slot with its companions.
#[derive(Debug)]
pub(super) enum Column {
    Text(Text),
    Boolean(Flags),
    Integer(Numbers<Int32Type>),
    /// The text of a decimal, without the companion that has the exact number.
    Digits(Text),
    Decimal(Text, Numbers<Decimal128Type>),
    DateTime(
        Text,
        Numbers<TimestampMicrosecondType>,
        Numbers<TimestampMicrosecondType>,
    ),
    Time(Text, Numbers<Int64Type>, Numbers<Int64Type>),
    Reference(Text, Text, Text),
    Json(Text),
    Struct(Box<Struct>),
    List(Box<List>),
}

/// Returns the number of columns of a slot: its own column and the companions. If the slot repeats, each of these is a
/// list and counts twice, because its item counts too. Columns inside a struct are not counted.
pub(super) fn size(slot: &Slot) -> usize {
    slot.part.columns().len() * if slot.many { 2 } else { 1 }
}

impl Column {
    /// Returns an empty column for a slot. `want` decides whether it has companions and, for a struct, which columns
    /// the struct may get.
    pub(super) fn new(slot: &Slot, want: &Want) -> Column {
        let plain = matches!(want, Want::Value);
        let one = match slot.part {
            SlotKind::Text => Column::Text(Text::new()),
            SlotKind::DateTime | SlotKind::Time | SlotKind::Reference if plain => Column::Text(Text::new()),
            SlotKind::Decimal if plain => Column::Digits(Text::new()),
            SlotKind::Json => Column::Json(Text::new()),
            SlotKind::Boolean => Column::Boolean(Flags::new()),
            SlotKind::Integer => Column::Integer(Numbers::new()),
            SlotKind::Decimal => Column::Decimal(Text::new(), Numbers::new()),
            SlotKind::DateTime => Column::DateTime(Text::new(), Numbers::new(), Numbers::new()),
            SlotKind::Time => Column::Time(Text::new(), Numbers::new(), Numbers::new()),
            SlotKind::Reference => Column::Reference(Text::new(), Text::new(), Text::new()),
            SlotKind::Struct => {
                let clip = match want {
                    Want::Some(clip) => Some(clip.clone()),
                    _ => None,
                };
                Column::Struct(Box::new(Struct::new(Shape::of(slot.type_id), false, clip)))
            }
        };
        if slot.many {
            Column::List(Box::new(List::new(one)))
        } else {
            one
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Column::Text(text) | Column::Digits(text) | Column::Json(text) => text.len(),
            Column::Boolean(flags) => flags.len(),
            Column::Integer(numbers) => numbers.len(),
            Column::Decimal(text, _) | Column::DateTime(text, ..) | Column::Time(text, ..) => text.len(),
            Column::Reference(text, ..) => text.len(),
            Column::Struct(fields) => fields.len(),
            Column::List(list) => list.len(),
        }
    }

    /// Stores `value` in row `at`, which must come after the rows of all earlier values. Returns whether the column
    /// accepts the value.
    #[inline]
    pub(super) fn append(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
        match self {
            Column::Struct(fields) => return fields.append(at, value, cx),
            Column::List(list) => return list.append(at, value, cx),
            Column::Boolean(flags) => {
                let Some(value) = value.as_bool() else { return false };
                flags.push_at(at, value);
                return true;
            }
            Column::Integer(numbers) => {
                let Some(value) = value.number().and_then(integer) else {
                    return false;
                };
                numbers.push_at(at, Some(value));
                return true;
            }
            Column::Json(text) => {
                if !value.is_object() {
                    return false;
                }
                text.push_at(at, value.raw());
                return true;
            }
            Column::Digits(text) => {
                let Some(value) = value.number() else { return false };
                text.push_at(at, value);
                return true;
            }
            Column::Decimal(text, number) => {
                let Some(value) = value.number() else { return false };
                text.push_at(at, value);
                number.push_at(at, companion::number(value));
                return true;
            }
            _ => {}
        }
        let Some(value) = value.as_str() else { return false };
        match self {
            Column::Text(text) => text.push_at(at, &value),
            Column::DateTime(text, start, end) => {
                text.push_at(at, &value);
                let bounds = companion::date_bounds(&value);
                start.push_at(at, bounds.map(|bounds| bounds.0));
                end.push_at(at, bounds.map(|bounds| bounds.1));
            }
            Column::Time(text, start, end) => {
                text.push_at(at, &value);
                let bounds = companion::time_bounds(&value);
                start.push_at(at, bounds.map(|bounds| bounds.0));
                end.push_at(at, bounds.map(|bounds| bounds.1));
            }
            Column::Reference(text, resource_type, id) => {
                text.push_at(at, &value);
                if let Some((target, target_id)) = companion::relative_reference(&value) {
                    resource_type.push_at(at, target);
                    id.push_at(at, target_id);
                }
            }
            _ => return false,
        }
        true
    }

    /// Estimates the memory in bytes of `len` rows, null rows included. The text of the values is not counted.
    pub(super) fn width(&self, len: usize) -> usize {
        match self {
            _ if self.len() == 0 => 0,
            Column::Text(_) | Column::Digits(_) | Column::Json(_) | Column::Integer(_) => 4 * len,
            Column::Boolean(_) => len / 4,
            Column::Reference(..) => 12 * len,
            Column::Decimal(..) | Column::DateTime(..) | Column::Time(..) => 20 * len,
            Column::Struct(fields) => fields.width(len),
            Column::List(list) => 4 * len + list.items.width(list.end()),
        }
    }

    /// Drops all rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        match self {
            Column::Text(text) | Column::Digits(text) | Column::Json(text) => text.truncate(len),
            Column::Boolean(flags) => flags.truncate(len),
            Column::Integer(numbers) => numbers.truncate(len),
            Column::Decimal(text, number) => {
                text.truncate(len);
                number.truncate(len);
            }
            Column::DateTime(text, start, end) => {
                text.truncate(len);
                start.truncate(len);
                end.truncate(len);
            }
            Column::Time(text, start, end) => {
                text.truncate(len);
                start.truncate(len);
                end.truncate(len);
            }
            Column::Reference(text, resource_type, id) => {
                text.truncate(len);
                resource_type.truncate(len);
                id.truncate(len);
            }
            Column::Struct(fields) => fields.truncate(len),
            Column::List(list) => list.truncate(len),
        }
    }

    /// Returns the arrays of the column and of its companions, with `len` rows each, in the order of
    /// [`SlotKind::columns`]. Empties the column.
    pub(super) fn finish(&mut self, len: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(match self {
            Column::Text(text) | Column::Digits(text) | Column::Json(text) => vec![text.finish(len)?],
            Column::Boolean(flags) => vec![flags.finish(len)],
            Column::Integer(numbers) => vec![numbers.finish(len, DataType::Int32)?],
            Column::Decimal(text, number) => {
                let data_type = ColumnType::Decimal.arrow().unwrap_or(DataType::Null);
                vec![text.finish(len)?, number.finish(len, data_type)?]
            }
            Column::DateTime(text, start, end) => {
                vec![
                    text.finish(len)?,
                    start.finish(len, timestamp())?,
                    end.finish(len, timestamp())?,
                ]
            }
            Column::Time(text, start, end) => {
                vec![
                    text.finish(len)?,
                    start.finish(len, DataType::Int64)?,
                    end.finish(len, DataType::Int64)?,
                ]
            }
            Column::Reference(text, resource_type, id) => {
                vec![text.finish(len)?, resource_type.finish(len)?, id.finish(len)?]
            }
            Column::Struct(fields) => vec![fields.finish(len)?],
            Column::List(list) => list.finish(len)?,
        })
    }
}
