//! The lineage of items: each column knows the column that contains it, up to the batch. `%resource`, `%rootResource`
//! and `resolve()` use it to find the resource that contains an item.

use std::sync::Arc;

use arrow::buffer::OffsetBuffer;
use rustc_hash::FxHashMap;

use super::super::compile::types::ItemType;
use super::super::values::collection::{Collection, Offsets};
use super::super::values::columns::Values;
use super::super::values::items::{Column, Index, Items};
use crate::fhir::facts;

/// A link from a column to the column that contains it.
#[derive(Debug)]
pub(in crate::fhirpath) struct Above {
    pub(in crate::fhirpath) column: Arc<Column>,
    way: Way,
    /// The number that must be added to a slot of the column before the lookup in `way`. It is not 0 if the column was
    /// sliced.
    shift: usize,
}

/// How to get from a slot of a column to the slot that contains it in the containing column.
#[derive(Clone, Debug)]
pub(in crate::fhirpath) enum Way {
    /// A slot leads to the slot with the same number in the containing column.
    Same,
    /// The column holds the items of lists. A slot leads to the slot of the list that contains it. The value has the
    /// offsets of the lists.
    List(OffsetBuffer<i32>),
    /// The column holds shredded resources. A row leads to the slot with the JSON text of its resource. The value has
    /// this slot for each row.
    Opened(Arc<[u32]>),
}

impl Above {
    pub(in crate::fhirpath) fn new(column: Arc<Column>, way: Way) -> Above {
        Above { column, way, shift: 0 }
    }

    /// Returns the same link for a column that begins `offset` slots later.
    pub(in crate::fhirpath) fn shifted(&self, offset: usize) -> Above {
        Above {
            column: self.column.clone(),
            way: self.way.clone(),
            shift: self.shift + offset,
        }
    }

    fn slot(&self, slot: usize) -> usize {
        let slot = slot + self.shift;
        match &self.way {
            Way::Same => slot,
            Way::List(offsets) => offsets
                .partition_point(|offset| *offset as usize <= slot)
                .saturating_sub(1),
            Way::Opened(slots) => slots.get(slot).map_or(0, |slot| *slot as usize),
        }
    }
}

/// A column, and a slot in it.
#[derive(Clone, Debug)]
pub(in crate::fhirpath) struct ColumnSlot {
    pub(in crate::fhirpath) column: Arc<Column>,
    pub(in crate::fhirpath) slot: usize,
}

impl ColumnSlot {
    fn up(&self) -> Option<ColumnSlot> {
        let above = self.column.above.as_ref()?;
        Some(ColumnSlot {
            column: above.column.clone(),
            slot: above.slot(self.slot),
        })
    }

    /// Finds the nearest resource that contains the slot: a row of the batch, or a slot with a resource's JSON text.
    fn resource(mut self) -> Option<ColumnSlot> {
        loop {
            match (&self.column.values, &self.column.above) {
                (Values::Json(_), _) | (Values::Record(_), None) => return Some(self),
                _ => self = self.up()?,
            }
        }
    }

    /// Returns the resource that contains this resource in `contained`. `None` if this is not a contained resource.
    pub(in crate::fhirpath) fn container(&self) -> Option<ColumnSlot> {
        let above = self.up()?;
        match above.column.values {
            Values::Record(_) => above.resource(),
            _ => None,
        }
    }

    /// For a resource inside an element of another resource, such as an entry of a Bundle: returns the element and the
    /// other resource. `None` if this resource is not inside an element.
    pub(in crate::fhirpath) fn entry(&self) -> Option<(ColumnSlot, ColumnSlot)> {
        let above = self.up()?;
        match above.column.values {
            Values::Struct(_) => Some((above.clone(), above.resource()?)),
            _ => None,
        }
    }

    pub(in crate::fhirpath) fn key(&self) -> (usize, usize) {
        (Arc::as_ptr(&self.column) as usize, self.slot)
    }
}

impl Items {
    /// Whether the items are, or are inside, resources that the batch holds as JSON text.
    pub(in crate::fhirpath) fn is_inside(&self) -> bool {
        let mut column = &self.column;
        loop {
            match (&column.values, &column.above) {
                (Values::Json(_), _) => return true,
                (_, Some(above)) => column = &above.column,
                (_, None) => return false,
            }
        }
    }

    /// Returns the resource that contains an item, or the item itself if it is a resource. `None` for computed items.
    pub(in crate::fhirpath) fn resource(&self, item: usize) -> Option<ColumnSlot> {
        let place = ColumnSlot {
            column: self.column.clone(),
            slot: self.slot(item),
        };
        place.resource()
    }
}

/// Returns the resources at `places` as items, with one row for each place. A place of `None` has an empty row.
/// Resources that are rows of the batch have the type `root`. Resources in JSON text have the abstract type Resource.
pub(in crate::fhirpath) fn resources(places: &[Option<ColumnSlot>], root: ItemType) -> Collection {
    let any = facts().lookup("Resource").map_or(root, ItemType::Fhir);
    let mut known: FxHashMap<usize, usize> = FxHashMap::default();
    let mut columns: Vec<(Arc<Column>, Vec<u32>)> = Vec::new();
    let mut items = Vec::with_capacity(places.len());
    let mut offsets = Vec::with_capacity(places.len() + 1);
    offsets.push(0);
    for place in places {
        if let Some(place) = place {
            let at = *known.entry(place.key().0).or_insert_with(|| {
                columns.push((place.column.clone(), Vec::new()));
                columns.len() - 1
            });
            items.push((at as u32, columns[at].1.len() as u32));
            columns[at].1.push(place.slot as u32);
        }
        offsets.push(items.len() as i32);
    }
    let parts = columns.into_iter().map(|(column, slots)| Items {
        item_type: if matches!(column.values, Values::Json(_)) {
            any
        } else {
            root
        },
        len: slots.len(),
        index: Index::Gather(slots.into()),
        column,
    });
    let parts = parts.collect();
    let offsets = if items.len() == places.len() {
        Offsets::Each(places.len())
    } else {
        Offsets::list(offsets)
    };
    Collection::mixed(offsets, parts, items)
}
