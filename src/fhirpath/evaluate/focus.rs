//! The contexts of a program's evaluation: the rows of a batch, or items that a program found in these rows.

use std::sync::{Arc, OnceLock};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use chrono::{DateTime, Utc};

use super::super::compile::types::ItemType;
use super::super::values::collection::{Body, Collection, Offsets};
use super::super::values::columns::Values;
use super::super::values::items::Items;
use super::lineage::{ColumnSlot, resources};
use super::work::Work;
use crate::fhir::TypeId;

/// The contexts on which a program is evaluated. Each context yields one row of the result.
#[derive(Clone, Debug)]
pub struct Focus {
    /// The resources of the batch.
    pub(in crate::fhirpath) root: Items,
    /// The contexts: a collection with one row for each context.
    pub(in crate::fhirpath) items: Collection,
    /// The batch row that contains each context. `None` if context `i` is row `i`.
    pub(in crate::fhirpath) rows: Option<Arc<[u32]>>,
    /// The index of each context among the items of its row, for `%rowIndex`. `None` means 0 for all.
    pub(in crate::fhirpath) places: Option<Arc<[u32]>>,
    /// The value of `now()`, which is set when it is used for the first time. Evaluations that share this clock have
    /// the same value.
    pub(in crate::fhirpath) clock: Arc<OnceLock<DateTime<Utc>>>,
    /// Counts the work of all evaluations that share this focus.
    pub(in crate::fhirpath) work: Arc<Work>,
}

impl Focus {
    /// Returns the rows of a batch as contexts. `type_id` is the resource type of the batch's table.
    pub fn root(batch: &RecordBatch, type_id: TypeId) -> Focus {
        let root = Items::new(ItemType::Fhir(type_id), Values::Record(batch.clone()));
        Focus {
            items: Collection::each(root.clone()),
            root,
            rows: None,
            places: None,
            clock: Arc::default(),
            work: Work::alone(batch),
        }
    }

    /// Returns a single empty context, for expressions that need no resource.
    pub fn nothing(type_id: TypeId) -> Result<Focus, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        Ok(Focus {
            items: Collection::empty(1),
            ..Focus::root(&batch, type_id)
        })
    }

    /// Returns the same contexts with another counter of work: evaluations on them add their work to `work`.
    pub fn within(self, work: &Arc<Work>) -> Focus {
        Focus {
            work: work.clone(),
            ..self
        }
    }

    /// Returns the same contexts with `now` as the value of `now()`. Callers that evaluate several batches pass the
    /// same time to each.
    pub fn at(self, now: DateTime<Utc>) -> Focus {
        Focus {
            clock: Arc::new(OnceLock::from(now)),
            ..self
        }
    }

    /// Returns the items of a collection as contexts. `collection` must be the result of a program on `self`, because
    /// its rows must be the contexts of `self`.
    pub fn enter(&self, collection: &Collection) -> Focus {
        let parents = collection.offsets().parents();
        let mut places = Vec::with_capacity(parents.len());
        for row in 0..collection.rows() {
            places.extend(0..collection.range(row).len() as u32);
        }
        let rows = match &self.rows {
            None => parents,
            Some(rows) => parents.iter().map(|parent| rows[*parent as usize]).collect(),
        };
        Focus {
            root: self.root.clone(),
            items: collection.flat(),
            rows: Some(rows.into()),
            places: Some(places.into()),
            clock: self.clock.clone(),
            work: self.work.clone(),
        }
    }

    /// Combines contexts of several foci. All foci must be over the batch of `self`. Each entry of `order` is one
    /// context of the result: the index of its focus in `foci`, and the index of the context in that focus. `places`
    /// has the values of `%rowIndex`.
    pub fn merge(&self, foci: &[Focus], order: &[(usize, usize)], places: Vec<u32>) -> Focus {
        let mut parts: Vec<Items> = Vec::new();
        let mut bases = Vec::with_capacity(foci.len());
        for focus in foci {
            bases.push(parts.len());
            match &focus.items.body {
                Body::One(items) => parts.push(items.clone()),
                Body::Mixed(mixed) => parts.extend(mixed.parts.iter().cloned()),
            }
        }
        let place = |(focus, context): &(usize, usize)| match &foci[*focus].items.body {
            Body::One(_) => (bases[*focus] as u32, *context as u32),
            Body::Mixed(mixed) => {
                let (part, place) = mixed.places[*context];
                (bases[*focus] as u32 + part, place)
            }
        };
        let items = Collection::mixed(Offsets::Each(order.len()), parts, order.iter().map(place).collect());
        let rows = order
            .iter()
            .map(|(focus, context)| foci[*focus].row(*context) as u32)
            .collect();
        Focus {
            root: self.root.clone(),
            items,
            rows: Some(rows),
            places: Some(places.into()),
            clock: self.clock.clone(),
            work: self.work.clone(),
        }
    }

    /// Returns for each context the resource that contains it. If `root` is set and this resource is a contained
    /// resource, returns its container instead. `None` if no context is inside a resource that the batch holds as JSON
    /// text. Then the rows of the batch are the resources.
    pub(in crate::fhirpath) fn inner_resources(&self, root: bool) -> Option<Collection> {
        if !self.items.columns().iter().any(Items::is_inside) {
            return None;
        }
        let of = |context: usize| {
            let (items, item) = self.items.item(context);
            let resource = items.resource(item)?;
            if root {
                Some(resource.container().unwrap_or(resource))
            } else {
                Some(resource)
            }
        };
        let places: Vec<Option<ColumnSlot>> = (0..self.len()).map(of).collect();
        Some(resources(&places, self.root.item_type()))
    }

    /// Returns `length` contexts, from `start` on.
    pub(in crate::fhirpath) fn slice(&self, start: usize, length: usize) -> Focus {
        let range = start as u32..(start + length) as u32;
        let rows: Arc<[u32]> = match &self.rows {
            None => range.clone().collect(),
            Some(rows) => rows[start..start + length].into(),
        };
        Focus {
            root: self.root.clone(),
            items: self
                .items
                .take(super::super::values::collection::Offsets::Each(length), range.collect()),
            rows: Some(rows),
            places: self.places.as_ref().map(|places| places[start..start + length].into()),
            clock: self.clock.clone(),
            work: self.work.clone(),
        }
    }

    /// Returns the number of contexts.
    pub fn len(&self) -> usize {
        self.items.rows()
    }

    /// Whether there are no contexts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the batch row that contains a context.
    pub fn row(&self, context: usize) -> usize {
        self.rows.as_ref().map_or(context, |rows| rows[context] as usize)
    }
}
