//! The tree of columns that grows while rows come in.
//!
//! Invariant: a column whose `append` gives `false` has not changed, at any depth. So a struct or list without a value
//! leaves no trace, and rows without a column cost nothing until that column's next value.

use super::companion;
use super::leaf::{Flags, Numbers, Text, is_absent};
use crate::fhir::storage::{LIST_ITEM, root_column};
use crate::lake::json::{Key, Value};
use crate::lake::shape::{ColumnType, Shape, Slot, SlotKind, timestamp};
use arrow::array::{Array, ArrayRef, ListArray, NullBufferBuilder, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Fields, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use std::sync::Arc;

/// What must be known and noted while one row goes in.
#[derive(Debug)]
pub(super) struct Context {
    /// How many more columns may be added.
    pub(super) room: usize,
    /// Why the row must be refused.
    pub(super) fault: Option<Fault>,
}

/// A reason to refuse a row.
#[derive(Debug)]
pub(super) enum Fault {
    /// A property stands twice in one object.
    Duplicate(&'static str),
    /// There is no room for the column of this property.
    Columns(&'static str),
}

/// The column of one slot with its companions.
#[derive(Debug)]
pub(super) enum Column {
    Text(Text),
    Boolean(Flags),
    Integer(Numbers<Int32Type>),
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

/// How many columns, nested ones counted, a slot without children makes.
fn size(slot: &Slot) -> usize {
    slot.part.columns().len() * if slot.many { 2 } else { 1 }
}

impl Column {
    fn new(slot: &Slot) -> Column {
        let one = match slot.part {
            SlotKind::Text => Column::Text(Text::new()),
            SlotKind::Json => Column::Json(Text::new()),
            SlotKind::Boolean => Column::Boolean(Flags::new()),
            SlotKind::Integer => Column::Integer(Numbers::new()),
            SlotKind::Decimal => Column::Decimal(Text::new(), Numbers::new()),
            SlotKind::DateTime => Column::DateTime(Text::new(), Numbers::new(), Numbers::new()),
            SlotKind::Time => Column::Time(Text::new(), Numbers::new(), Numbers::new()),
            SlotKind::Reference => Column::Reference(Text::new(), Text::new(), Text::new()),
            SlotKind::Struct => Column::Struct(Box::new(Struct::new(Shape::of(slot.ty), false))),
        };
        if slot.many {
            Column::List(Box::new(List::new(one)))
        } else {
            one
        }
    }

    fn len(&self) -> usize {
        match self {
            Column::Text(text) | Column::Json(text) => text.len(),
            Column::Boolean(flags) => flags.len(),
            Column::Integer(numbers) => numbers.len(),
            Column::Decimal(text, _) | Column::DateTime(text, ..) | Column::Time(text, ..) => text.len(),
            Column::Reference(text, ..) => text.len(),
            Column::Struct(fields) => fields.len,
            Column::List(list) => list.len(),
        }
    }

    /// Puts `value` at row `at`, which lies behind all values so far; gives whether it was one for this column.
    #[inline]
    fn append(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
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
            Column::Reference(text, ty, id) => {
                text.push_at(at, &value);
                if let Some((target, target_id)) = companion::relative_reference(&value) {
                    ty.push_at(at, target);
                    id.push_at(at, target_id);
                }
            }
            _ => return false,
        }
        true
    }

    /// About how many bytes `len` rows take in memory beside the values' own text: what nulls cost too.
    fn width(&self, len: usize) -> usize {
        match self {
            _ if self.len() == 0 => 0,
            Column::Text(_) | Column::Json(_) | Column::Integer(_) => 4 * len,
            Column::Boolean(_) => len / 4,
            Column::Reference(..) => 12 * len,
            Column::Decimal(..) | Column::DateTime(..) | Column::Time(..) => 20 * len,
            Column::Struct(fields) => fields.width(len),
            Column::List(list) => 4 * len + list.items.width(list.end()),
        }
    }

    /// Forgets all rows from `len` on.
    fn truncate(&mut self, len: usize) {
        match self {
            Column::Text(text) | Column::Json(text) => text.truncate(len),
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
            Column::Reference(text, ty, id) => {
                text.truncate(len);
                ty.truncate(len);
                id.truncate(len);
            }
            Column::Struct(fields) => fields.truncate(len),
            Column::List(list) => list.truncate(len),
        }
    }

    /// The column and its companions, `len` rows each, in the order of [`SlotKind::columns`]; the column itself is empty
    /// again.
    fn finish(&mut self, len: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        Ok(match self {
            Column::Text(text) | Column::Json(text) => vec![text.finish(len)?],
            Column::Boolean(flags) => vec![flags.finish(len)],
            Column::Integer(numbers) => vec![numbers.finish(len, DataType::Int32)?],
            Column::Decimal(text, number) => {
                let ty = ColumnType::Decimal.arrow().unwrap_or(DataType::Null);
                vec![text.finish(len)?, number.finish(len, ty)?]
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
            Column::Reference(text, ty, id) => vec![text.finish(len)?, ty.finish(len)?, id.finish(len)?],
            Column::Struct(fields) => vec![fields.finish(len)?],
            Column::List(list) => list.finish(len)?,
        })
    }
}

/// R4's integers: an optional minus and digits, no zero in front, within 32 bits.
fn integer(text: &str) -> Option<i32> {
    if text == "-0" { None } else { text.parse().ok() }
}

/// The items of all rows end to end.
#[derive(Debug)]
pub(super) struct List {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    items: Column,
}

impl List {
    fn new(items: Column) -> List {
        List {
            offsets: vec![0],
            nulls: NullBufferBuilder::new(0),
            items,
        }
    }

    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Where the last row ends.
    fn end(&self) -> usize {
        self.offsets.last().map_or(0, |end| *end as usize)
    }

    fn append(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
        let start = self.end();
        let mut end = start;
        let mut any = false;
        for item in value.items() {
            any |= self.items.append(end, item, cx);
            end += 1;
        }
        if any {
            self.pad(at);
            self.offsets.push(end as i32);
            self.nulls.append_non_null();
        }
        any
    }

    fn pad(&mut self, to: usize) {
        let len = self.len();
        if to > len {
            self.offsets.resize(to + 1, self.end() as i32);
            self.nulls.append_n_nulls(to - len);
        }
    }

    /// Makes the last row longer, by items without a value.
    fn extend(&mut self, items: usize) {
        if let Some(end) = self.offsets.last_mut() {
            *end += items as i32;
        }
    }

    /// How many items the last row has.
    fn last(&self) -> usize {
        match self.offsets[..] {
            [.., start, end] => (end - start) as usize,
            _ => 0,
        }
    }

    fn truncate(&mut self, len: usize) {
        if self.len() > len {
            self.offsets.truncate(len + 1);
            self.nulls.truncate(len);
        }
        self.items.truncate(self.end());
    }

    fn finish(&mut self, len: usize) -> Result<Vec<ArrayRef>, ArrowError> {
        self.pad(len);
        let items = self.items.finish(self.end())?;
        let offsets = OffsetBuffer::new(std::mem::replace(&mut self.offsets, vec![0]).into());
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        let list = |items: ArrayRef| -> Result<ArrayRef, ArrowError> {
            let field = Arc::new(Field::new(LIST_ITEM, items.data_type().clone(), true));
            Ok(Arc::new(ListArray::try_new(
                field,
                offsets.clone(),
                items,
                nulls.clone(),
            )?))
        };
        items.into_iter().map(list).collect()
    }
}

/// No child, no slot.
const NONE: u16 = u16::MAX;

/// The columns of one struct, by the order in which they were first seen.
#[derive(Debug)]
pub(super) struct Struct {
    shape: &'static Shape,
    root: bool,
    children: Vec<Child>,
    /// The child of each slot, or [`NONE`].
    by_slot: Vec<u16>,
    /// The child that came first in the value before.
    first: u16,
    len: usize,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
struct Child {
    slot: &'static Slot,
    /// The child that followed this one last time.
    next: u16,
    column: Column,
}

impl Struct {
    /// A struct without columns; `root` is a table's own, whose `id` is a system column.
    pub(super) fn new(shape: &'static Shape, root: bool) -> Struct {
        let by_slot = vec![NONE; shape.slots().len()];
        Struct {
            shape,
            root,
            children: Vec::new(),
            by_slot,
            first: NONE,
            len: 0,
            nulls: NullBufferBuilder::new(0),
        }
    }

    fn append(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
        let any = self.append_children(at, value, cx);
        if any {
            self.nulls.append_n_nulls(at - self.len);
            self.nulls.append_non_null();
            self.len = at + 1;
        }
        any
    }

    /// Puts the properties of `value` into the columns at row `at`; gives whether there were any.
    pub(super) fn append_children(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
        let mut any = false;
        let mut before = NONE;
        let mut expected = self.first;
        for (key, value) in value.entries() {
            let known = self
                .children
                .get(usize::from(expected))
                .is_some_and(|child| child.slot.name == key.raw());
            let place = if known {
                expected
            } else {
                match self.find(key, before, cx) {
                    Some(place) => place,
                    None => continue,
                }
            };
            let child = &mut self.children[usize::from(place)];
            before = place;
            expected = child.next;
            if child.column.len() > at {
                cx.fault = Some(Fault::Duplicate(child.slot.name));
                return any;
            }
            let valued = child.column.append(at, value, cx);
            any |= valued;
            if valued && child.slot.many && child.slot.partner.is_some() {
                self.level(place, at);
            }
        }
        any
    }

    /// The child that a property belongs to, and a note that it follows `before`; `None` for what R4 does not define.
    #[cold]
    fn find(&mut self, key: Key<'_>, before: u16, cx: &mut Context) -> Option<u16> {
        let name = key.name();
        let slot = self.shape.find(&name)?;
        let place = self.child(slot, cx)?;
        if !key.is_escaped() {
            match self.children.get_mut(usize::from(before)) {
                Some(child) => child.next = place,
                None => self.first = place,
            }
        }
        Some(place)
    }

    fn child(&mut self, slot: u16, cx: &mut Context) -> Option<u16> {
        let place = self.by_slot[usize::from(slot)];
        if place != NONE {
            return Some(place);
        }
        let def = &self.shape.slots()[usize::from(slot)];
        if self.root && def.name == "id" {
            return None;
        }
        if cx.room < size(def) {
            cx.fault = Some(Fault::Columns(def.name));
            return None;
        }
        cx.room -= size(def);
        let place = self.children.len() as u16;
        self.children.push(Child {
            slot: def,
            next: NONE,
            column: Column::new(def),
        });
        self.by_slot[usize::from(slot)] = place;
        Some(place)
    }

    /// Makes the lists of `x` and `_x` equally long at row `at`, where both have one.
    fn level(&mut self, place: u16, at: usize) {
        let partner = self.children[usize::from(place)].slot.partner;
        let Some(other) = partner
            .map(|slot| self.by_slot[usize::from(slot)])
            .filter(|other| *other != NONE)
        else {
            return;
        };
        let Ok([one, other]) = self.children.get_disjoint_mut([usize::from(place), usize::from(other)]) else {
            return;
        };
        if let (Column::List(one), Column::List(other)) = (&mut one.column, &mut other.column)
            && other.len() == at + 1
        {
            let (here, there) = (one.last(), other.last());
            one.extend(there.saturating_sub(here));
            other.extend(here.saturating_sub(there));
        }
    }

    /// Makes the columns of `fields` at once.
    pub(super) fn expect(&mut self, fields: &Fields, cx: &mut Context) {
        for field in fields {
            let Some(known) = self.shape.column(field.name(), self.root) else {
                continue;
            };
            let Some(place) = self.shape.find(known.slot.name).and_then(|slot| self.child(slot, cx)) else {
                continue;
            };
            let column = &mut self.children[usize::from(place)].column;
            let (column, ty) = match (column, field.data_type()) {
                (Column::List(list), DataType::List(item)) => (&mut list.items, item.data_type()),
                other => other,
            };
            if let (Column::Struct(inner), DataType::Struct(fields)) = (column, ty) {
                inner.expect(fields, cx);
            }
        }
    }

    /// About how many bytes the columns take, `len` rows each, beside the values' own text.
    pub(super) fn width(&self, len: usize) -> usize {
        self.children.iter().map(|child| child.column.width(len)).sum()
    }

    /// Forgets all rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        if self.len > len {
            self.nulls.truncate(len);
            self.len = len;
        }
        for child in &mut self.children {
            child.column.truncate(len);
        }
    }

    fn finish(&mut self, len: usize) -> Result<ArrayRef, ArrowError> {
        self.nulls.append_n_nulls(len - self.len);
        self.len = 0;
        let nulls = std::mem::replace(&mut self.nulls, NullBufferBuilder::new(0)).finish();
        let (fields, arrays): (Vec<FieldRef>, Vec<ArrayRef>) = self.finish_children(len)?.into_iter().unzip();
        Ok(Arc::new(StructArray::try_new_with_length(
            fields.into(),
            arrays,
            nulls,
            len,
        )?))
    }

    /// The columns that have a value, in definition order, `len` rows each.
    pub(super) fn finish_children(&mut self, len: usize) -> Result<Vec<(FieldRef, ArrayRef)>, ArrowError> {
        let mut columns = Vec::new();
        let in_order = self.by_slot.iter().filter(|place| **place != NONE);
        for place in in_order {
            let child = &mut self.children[usize::from(*place)];
            if child.column.len() == 0 {
                continue;
            }
            let arrays = child.column.finish(len)?;
            if arrays.first().is_none_or(is_absent) {
                continue;
            }
            let name = if self.root {
                root_column(child.slot.name)
            } else {
                child.slot.name.into()
            };
            for ((suffix, _), array) in child.slot.part.columns().iter().zip(arrays) {
                columns.push((
                    Arc::new(Field::new(format!("{name}{suffix}"), array.data_type().clone(), true)),
                    array,
                ));
            }
        }
        Ok(columns)
    }
}
