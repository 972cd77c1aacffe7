//! Resources that the batch holds as JSON text (`contained`, `Bundle.entry.resource`). This file finds their types, and
//! shreds a resource to columns when a step needs its elements.
//!
//! A text is parsed when its type is needed for the first time. It is shredded when a step needs an element of the
//! text's type for the first time. The results stay with the batch, for further steps and further programs on the same
//! [`Focus`](super::super::Focus). A text that is not JSON, has no R4 type, or cannot be shredded is an item without
//! children.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, RecordBatch, StringArray};
use rustc_hash::FxHashMap;

use super::super::compile::types::ItemType;
use super::super::values::collection::{Collection, Offsets};
use super::super::values::columns::Values;
use super::super::values::items::{Column, Index, Items};
use super::combine::flat_map;
use super::lineage::{Above, Way};
use crate::columns::json::{Tape, Value};
use crate::columns::shred::{ShredError, Shredder, SystemValues};
use crate::fhir::storage::SYSTEM_COLUMNS;
use crate::fhir::{Kind, TypeId, facts};

/// The JSON columns of a batch that have been read.
#[derive(Debug, Default)]
pub(in crate::fhirpath) struct Openings {
    columns: Mutex<Vec<(Key, Arc<Mutex<Opening>>)>>,
}

/// Identifies a text column by the memory addresses of its buffers. They do not change as long as the column is held,
/// and an [`Opening`] holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    offsets: usize,
    texts: usize,
    len: usize,
}

impl Key {
    fn of(texts: &StringArray) -> Key {
        Key {
            offsets: texts.value_offsets().as_ptr() as usize,
            texts: texts.value_data().as_ptr() as usize,
            len: texts.len(),
        }
    }
}

/// A JSON column: its texts, what is known of each, and the resources that have been shredded.
#[derive(Debug)]
struct Opening {
    texts: StringArray,
    slots: Vec<Slot>,
    parts: Vec<Option<Part>>,
}

#[derive(Clone, Debug)]
enum Slot {
    Unread,
    /// The text was parsed. Has the type that the text states, if it is a type of R4, and the resource's id. Both are
    /// `None` if the slot is null or the text is not JSON.
    Read(Option<TypeId>, Option<Box<str>>),
    /// The resource was shredded. Has the type, the id, the index in `parts`, and the row in this part.
    Open(TypeId, Option<Box<str>>, u32, u32),
    /// A step needed the columns of the resource, but the resource cannot be shredded. Has the type and the id. No
    /// further attempt is made.
    Shut(TypeId, Option<Box<str>>),
}

/// Shredded resources of one type, and for each row the slot of its text.
#[derive(Clone, Debug)]
struct Part {
    batch: RecordBatch,
    slots: Arc<[u32]>,
}

impl Slot {
    fn head(&self) -> (Option<TypeId>, Option<&str>) {
        match self {
            Slot::Unread => (None, None),
            Slot::Read(type_id, id) => (*type_id, id.as_deref()),
            Slot::Open(type_id, id, ..) | Slot::Shut(type_id, id) => (Some(*type_id), id.as_deref()),
        }
    }
}

impl Items {
    /// Whether the items are whole resources as JSON text.
    pub(in crate::fhirpath) fn is_json(&self) -> bool {
        matches!(self.column.values, Values::Json(_))
    }

    fn opening(&self, texts: &StringArray) -> Arc<Mutex<Opening>> {
        let mut top = &self.column;
        while let Some(above) = &top.above {
            top = &above.column;
        }
        let key = Key::of(texts);
        let mut columns = top.openings.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opening)) = columns.iter().find(|(known, _)| *known == key) {
            return opening.clone();
        }
        let opening = Arc::new(Mutex::new(Opening {
            texts: texts.clone(),
            slots: vec![Slot::Unread; texts.len()],
            parts: Vec::new(),
        }));
        columns.push((key, opening.clone()));
        opening
    }

    /// Returns the same items, one row each, with the type that their JSON states. An item whose JSON states no type
    /// of R4 stays a Resource.
    pub(in crate::fhirpath) fn told_apart(&self) -> Collection {
        let (Values::Json(texts), true) = (&self.column.values, self.item_type.is_any_resource()) else {
            return Collection::each(self.clone());
        };
        let opening = self.opening(texts);
        let mut opening = opening.lock().unwrap_or_else(PoisonError::into_inner);
        opening.read(self, &|_| false);
        let mut kinds = Kinds::default();
        let places = (0..self.len).map(|item| kinds.place(self, opening.slots[self.slot(item)].head().0, item));
        let places = places.collect();
        Collection::mixed(Offsets::Each(self.len), kinds.parts, places)
    }

    /// Returns the same items, one row each. An item of a wanted type becomes a row of columns if it can be shredded.
    /// Every other item stays JSON text, with the type that it states.
    pub(in crate::fhirpath) fn opened(&self, wanted: &dyn Fn(TypeId) -> bool) -> Collection {
        let Values::Json(texts) = &self.column.values else {
            return Collection::each(self.clone());
        };
        let opening = self.opening(texts);
        let mut opening = opening.lock().unwrap_or_else(PoisonError::into_inner);
        opening.read(self, wanted);
        let mut kinds = Kinds::default();
        let mut of_parts: FxHashMap<u32, u32> = FxHashMap::default();
        let mut places = Vec::with_capacity(self.len);
        for item in 0..self.len {
            let slot = &opening.slots[self.slot(item)];
            let open = match slot {
                Slot::Open(type_id, _, part, row) => opening.parts[*part as usize]
                    .as_ref()
                    .map(|found| (*type_id, *part, *row, found)),
                _ => None,
            };
            places.push(match open {
                Some((type_id, part, row, found)) => {
                    let at = *of_parts.entry(part).or_insert_with(|| {
                        kinds.parts.push(found.items(type_id, &self.column));
                        kinds.parts.len() as u32 - 1
                    });
                    (at, row)
                }
                None => kinds.place(self, slot.head().0, item),
            });
        }
        Collection::mixed(Offsets::Each(self.len), kinds.parts, places)
    }

    /// Returns the ids of the resources. `None` if the items are not JSON text.
    pub(in crate::fhirpath) fn resource_ids(&self) -> Option<Vec<Option<String>>> {
        let Values::Json(texts) = &self.column.values else {
            return None;
        };
        let opening = self.opening(texts);
        let mut opening = opening.lock().unwrap_or_else(PoisonError::into_inner);
        opening.read(self, &|_| false);
        let id = |item| opening.slots[self.slot(item)].head().1.map(str::to_string);
        Some((0..self.len).map(id).collect())
    }
}

/// Returns the same items as `collection`, but items that are JSON text of a wanted type become rows of columns.
pub(in crate::fhirpath) fn opened(collection: &Collection, wanted: &dyn Fn(TypeId) -> bool) -> Collection {
    if collection.columns().iter().any(Items::is_json) {
        flat_map(collection, |items| items.opened(wanted))
    } else {
        collection.clone()
    }
}

/// Returns the same items as `collection`, but items that are JSON text of unknown type get the type that their JSON
/// states.
pub(in crate::fhirpath) fn told_apart(collection: &Collection) -> Collection {
    if collection.columns().iter().any(Items::is_json) {
        flat_map(collection, Items::told_apart)
    } else {
        collection.clone()
    }
}

/// Items that stay JSON text, in one part for each type.
#[derive(Default)]
struct Kinds {
    parts: Vec<Items>,
    of: FxHashMap<Option<TypeId>, u32>,
}

impl Kinds {
    fn place(&mut self, items: &Items, type_id: Option<TypeId>, item: usize) -> (u32, u32) {
        let at = *self.of.entry(type_id).or_insert_with(|| {
            let narrower = type_id.filter(|_| items.item_type.is_any_resource());
            self.parts
                .push(items.with_type(narrower.map_or(items.item_type, ItemType::Fhir)));
            self.parts.len() as u32 - 1
        });
        (at, item as u32)
    }
}

impl Part {
    fn items(&self, type_id: TypeId, json: &Arc<Column>) -> Items {
        Items {
            item_type: ItemType::Fhir(type_id),
            len: self.batch.num_rows(),
            index: Index::Identity,
            column: Arc::new(Column {
                values: Values::Record(self.batch.clone()),
                element: None,
                above: Some(Above::new(json.clone(), Way::Opened(self.slots.clone()))),
                openings: Openings::default(),
            }),
        }
    }
}

impl Opening {
    /// Parses the texts of these items, and shreds the resources of wanted types. Skips what an earlier call has done.
    fn read(&mut self, items: &Items, wanted: &dyn Fn(TypeId) -> bool) {
        let mut tape = Tape::new();
        let mut making: FxHashMap<TypeId, Making> = FxHashMap::default();
        for item in 0..items.len {
            let at = items.slot(item);
            let due = match &self.slots[at] {
                Slot::Unread => true,
                Slot::Read(Some(type_id), _) => wanted(*type_id),
                _ => false,
            };
            if !due {
                continue;
            }
            if self.texts.is_null(at) {
                self.slots[at] = Slot::Read(None, None);
                continue;
            }
            let texts = self.texts.clone();
            let Ok(root) = tape.parse(texts.value(at).as_bytes()) else {
                self.slots[at] = Slot::Read(None, None);
                continue;
            };
            let type_id = resource_type(root);
            let id = root.get_str("id").map(Box::from);
            self.slots[at] = match type_id.filter(|type_id| wanted(*type_id)) {
                None => Slot::Read(type_id, id),
                Some(type_id) => {
                    let making = making
                        .entry(type_id)
                        .or_insert_with(|| Making::new(type_id, &mut self.parts));
                    match making.push(root, at, &mut self.parts) {
                        Some((part, row)) => Slot::Open(type_id, id, part, row),
                        None => Slot::Shut(type_id, id),
                    }
                }
            };
        }
        for making in making.values_mut() {
            making.finish(&mut self.parts);
        }
    }
}

fn resource_type(root: Value<'_>) -> Option<TypeId> {
    let type_id = facts().lookup(&root.get_str("resourceType")?)?;
    let def = facts().get(type_id);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(type_id)
}

/// A part to which resources are still added. `slots` has the slot of each resource's text.
struct Making {
    type_id: TypeId,
    shredder: Shredder,
    part: usize,
    slots: Vec<u32>,
}

impl Making {
    fn new(type_id: TypeId, parts: &mut Vec<Option<Part>>) -> Making {
        parts.push(None);
        Making {
            type_id,
            shredder: Shredder::new(type_id),
            part: parts.len() - 1,
            slots: Vec::new(),
        }
    }

    /// Adds a resource. If the current part is full, begins a new one. Returns the index of the part and the resource's
    /// row in this part. `None` if the resource cannot be shredded even in an empty part.
    fn push(&mut self, root: Value<'_>, slot: usize, parts: &mut Vec<Option<Part>>) -> Option<(u32, u32)> {
        let id = root.get_str("id");
        let system = SystemValues::outside(id.as_deref().unwrap_or_default(), "");
        let mut pushed = self.shredder.push(&system, root);
        if let Err(ShredError::Full | ShredError::TooManyColumns { .. }) = pushed
            && !self.shredder.is_empty()
        {
            self.finish(parts);
            *self = Making::new(self.type_id, parts);
            pushed = self.shredder.push(&system, root);
        }
        pushed.ok()?;
        self.slots.push(slot as u32);
        Some((self.part as u32, self.slots.len() as u32 - 1))
    }

    fn finish(&mut self, parts: &mut [Option<Part>]) {
        if self.shredder.is_empty() {
            return;
        }
        let batch = self.shredder.finish().ok().and_then(|batch| elements(&batch));
        let slots = std::mem::take(&mut self.slots).into();
        parts[self.part] = batch.map(|batch| Part { batch, slots });
    }
}

/// Returns the batch without its system columns, except `id`.
fn elements(batch: &RecordBatch) -> Option<RecordBatch> {
    let schema = batch.schema();
    let is_element = |name: &str| name == "id" || !SYSTEM_COLUMNS.contains(&name);
    let kept: Vec<usize> = (0..batch.num_columns())
        .filter(|at| is_element(schema.field(*at).name()))
        .collect();
    batch.project(&kept).ok()
}
