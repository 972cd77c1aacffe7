//! Clips: the wanted columns of a type, and the JSON properties that these columns need.
//!
//! A clip is made from leaves, which are paths of columns (`code.coding.system`, `effectiveDateTime__start`). For
//! each property of each object, it says whether a wanted column needs the property. A struct that contains wanted
//! columns is not null if R4 defines any value in its object, even a value that is not wanted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::columns::json::{Selection, Take};
use crate::columns::shape::{Shape, SlotKind};
use crate::fhir::TypeId;
use crate::fhir::storage::{EVERYTHING, LeafSet};

/// The wanted columns of one type.
#[derive(Clone, Debug)]
pub struct Clip {
    type_id: TypeId,
    root: Arc<Wanted>,
    selection: Selection,
}

/// The wanted slots of one struct.
#[derive(Debug)]
pub(super) struct Wanted {
    slots: Vec<Want>,
}

/// Which columns of a slot are wanted.
#[derive(Clone, Debug)]
pub(super) enum Want {
    /// No column of the slot is wanted. But if an object has a value for the slot, the object counts as present, so its
    /// struct is not null.
    Nothing,
    /// The value as written, without companions.
    Value,
    /// The value, all its companions, and everything below it.
    Whole,
    /// Some columns of a struct.
    Some(Arc<Wanted>),
}

impl Clip {
    /// Returns the clip that has the columns of these leaves. `name.*` stands for all leaves below `name`. Ignores
    /// leaves that are not columns of elements.
    pub fn new(type_id: TypeId, leaves: &LeafSet) -> Clip {
        let mut names = Names::default();
        for leaf in leaves {
            names.insert(leaf);
        }
        let mut selection = Selection::new();
        let (root, _) = names.resolve(Shape::of(type_id), true, &mut selection);
        Clip {
            type_id,
            root: Arc::new(root),
            selection,
        }
    }

    /// Returns the type whose columns the clip selects.
    pub fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Returns the JSON properties that the wanted columns need, and `id`.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    pub(super) fn root(&self) -> &Arc<Wanted> {
        &self.root
    }
}

impl Wanted {
    pub(super) fn slot(&self, slot: u16) -> &Want {
        self.slots.get(usize::from(slot)).unwrap_or(&Want::Nothing)
    }
}

/// The names in the paths of the leaves, as a tree: `code.text` and `code.coding.system` share the node `code`.
#[derive(Default)]
struct Names<'a> {
    children: BTreeMap<&'a str, Names<'a>>,
}

impl<'a> Names<'a> {
    fn insert(&mut self, path: &'a str) {
        let mut names = self;
        for name in path.split('.') {
            names = names.children.entry(name).or_default();
        }
    }

    /// Finds the slots of `shape` that have these names, and adds the object to `selection`. Returns what is wanted of
    /// each slot, and the number of the object in `selection`.
    fn resolve(&self, shape: &'static Shape, root: bool, selection: &mut Selection) -> (Wanted, u16) {
        let all = self.children.contains_key(EVERYTHING);
        let unnamed = if all {
            (Want::Whole, Take::Whole)
        } else {
            (Want::Nothing, Take::Skip)
        };
        let mut slots = vec![unnamed; shape.slots().len()];
        for (name, below) in &self.children {
            let Some(column) = shape.column(name, root) else {
                continue;
            };
            let Some(slot) = shape.find(column.slot.name) else {
                continue;
            };
            let (want, take) = &mut slots[usize::from(slot)];
            if let Want::Whole = want {
                continue;
            }
            (*want, *take) = match column.slot.part {
                SlotKind::Struct if below.children.contains_key(EVERYTHING) => (Want::Whole, Take::Whole),
                SlotKind::Struct => {
                    let (wanted, number) = below.resolve(Shape::of(column.slot.type_id), false, selection);
                    (Want::Some(Arc::new(wanted)), Take::Object(number))
                }
                SlotKind::Json => (Want::Value, Take::Whole),
                _ if column.companion || matches!(want, Want::Whole) => (Want::Whole, Take::Scalar),
                _ => (Want::Value, Take::Scalar),
            };
        }
        if root && let Some(id) = shape.find("id") {
            slots[usize::from(id)] = (Want::Value, Take::Scalar);
        }
        let properties = shape
            .slots()
            .iter()
            .zip(&slots)
            .map(|(slot, (_, take))| (slot.name, *take));
        let number = selection.object(properties);
        let slots = slots.into_iter().map(|(want, _)| want).collect();
        (Wanted { slots }, number)
    }
}
