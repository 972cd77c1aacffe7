//! The columns of a struct. It expects the properties of a value in the order of the previous value, so most names need
//! no lookup. A hash table finds the columns of the other names.

use super::clip::{Want, Wanted};
use super::column::{Column, Context, Fault, size};
use super::leaf::is_absent;
use super::presence;
use crate::columns::json::{Key, Value};
use crate::columns::shape::{Shape, Slot};
use crate::fhir::storage::root_column;
use arrow::array::{Array, ArrayRef, NullBufferBuilder, StructArray};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use arrow::error::ArrowError;
use std::sync::Arc;

/// The index that stands for "no child".
const NONE: u16 = u16::MAX;

/// The columns of one struct, in the order in which they were added.
#[derive(Debug)]
pub(super) struct Struct {
    shape: &'static Shape,
    root: bool,
    /// The wanted slots. `None` means that all slots are wanted.
    clip: Option<Arc<Wanted>>,
    children: Vec<Child>,
    /// For each slot, the index of its child, or [`NONE`].
    by_slot: Vec<u16>,
    /// The index of the first child of the previous value.
    first: u16,
    len: usize,
    nulls: NullBufferBuilder,
}

#[derive(Debug)]
struct Child {
    slot: &'static Slot,
    /// The index of the child that followed this one in the previous value.
    next: u16,
    column: Column,
}

impl Struct {
    /// Returns a struct without columns. `root` means the root of a table, whose `id` is a system column.
    pub(super) fn new(shape: &'static Shape, root: bool, clip: Option<Arc<Wanted>>) -> Struct {
        let by_slot = vec![NONE; shape.slots().len()];
        Struct {
            shape,
            root,
            clip,
            children: Vec::new(),
            by_slot,
            first: NONE,
            len: 0,
            nulls: NullBufferBuilder::new(0),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn append(&mut self, at: usize, value: Value<'_>, cx: &mut Context) -> bool {
        let any = self.append_children(at, value, cx);
        if any {
            self.nulls.append_n_nulls(at - self.len);
            self.nulls.append_non_null();
            self.len = at + 1;
        }
        any
    }

    /// Stores the properties of `object` in row `at`. Returns whether R4 defines any value in the object. This includes
    /// values that get no column.
    pub(super) fn append_children(&mut self, at: usize, object: Value<'_>, cx: &mut Context) -> bool {
        let mut any = false;
        let mut before = NONE;
        let mut expected = self.first;
        for (key, value) in object.entries() {
            let known = self
                .children
                .get(usize::from(expected))
                .is_some_and(|child| child.slot.name == key.raw());
            let place = if known {
                expected
            } else {
                match self.find(key, before, cx) {
                    Some(place) => place,
                    None => {
                        any |= self.clip.is_some() && self.is_value(key, value);
                        continue;
                    }
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
        any || (object.is_clipped() && !self.root && presence::of_text(self.shape, object.raw(), &mut cx.scratch))
    }

    /// Whether R4 defines a value in this property, which gets no column here. If so, the object that contains the
    /// property counts as present.
    fn is_value(&self, key: Key<'_>, value: Value<'_>) -> bool {
        let slot = self.shape.find(&key.name());
        slot.is_some_and(|slot| presence::of_slot(&self.shape.slots()[usize::from(slot)], value))
    }

    /// Returns the child of a property and caches it as the successor of `before`. `None` if R4 does not define the
    /// property, if the property gets no column (the root's `id`, or a slot that is not wanted), or if its columns
    /// would exceed the allowed number. In the last case, sets `cx.fault`.
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
        let want = self.clip.as_ref().map_or(&Want::Whole, |clip| clip.slot(slot));
        if (self.root && def.name == "id") || matches!(want, Want::Nothing) {
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
            column: Column::new(def, want),
        });
        self.by_slot[usize::from(slot)] = place;
        Some(place)
    }

    /// Makes the lists of `x` and `_x` in row `at` equally long, if both have a list there.
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

    /// Creates the columns of `fields` before any row has a value for them. Ignores fields that are not in the shape.
    pub(super) fn expect(&mut self, fields: &Fields, cx: &mut Context) {
        for field in fields {
            let Some(known) = self.shape.column(field.name(), self.root) else {
                continue;
            };
            let Some(place) = self.shape.find(known.slot.name).and_then(|slot| self.child(slot, cx)) else {
                continue;
            };
            let column = &mut self.children[usize::from(place)].column;
            let (column, data_type) = match (column, field.data_type()) {
                (Column::List(list), DataType::List(item)) => (&mut list.items, item.data_type()),
                other => other,
            };
            if let (Column::Struct(inner), DataType::Struct(fields)) = (column, data_type) {
                inner.expect(fields, cx);
            }
        }
    }

    /// Estimates the memory in bytes of the columns with `len` rows each. The text of the values is not counted.
    pub(super) fn width(&self, len: usize) -> usize {
        self.children.iter().map(|child| child.column.width(len)).sum()
    }

    /// Drops all rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        if self.len > len {
            self.nulls.truncate(len);
            self.len = len;
        }
        for child in &mut self.children {
            child.column.truncate(len);
        }
    }

    pub(super) fn finish(&mut self, len: usize) -> Result<ArrayRef, ArrowError> {
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

    /// Returns the columns that have a value, in definition order, with `len` rows each. Empties all columns.
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
