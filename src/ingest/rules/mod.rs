//! Applies the rules of [`normalize`](crate::normalize) to imported records. There is one unit for each owner: one
//! consent of a sync, or one filed patient of an import.
//!
//! While the input is read, its records are sorted by ranges of owners ([`Gathered`]): in memory up to a limit, then in
//! a temporary file. Then all cores work on one range after the other. A survey sees each unit's records, and then the
//! owner's rows of the lake that they do not replace. The resulting plan is applied to the records before they are
//! written, and to the rows. Generated resources are stored beside them. Resources that an earlier run generated and
//! this one does not are deleted, in the same snapshot. Memory is bounded by a range, or by the facts of one large
//! unit.

mod asked;
mod edited;
mod gather;
mod kept;
mod placed;
mod ranges;
mod shared;
mod stowed;
mod unit;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use gather::{Gathered, Gatherer};
pub(super) use kept::Shelf;
pub(super) use ranges::{Scene, normalize};

use crate::fhir::TypeId;
use crate::normalize::{Day, Knowledge};

/// The inputs of the rules besides records.
#[derive(Clone)]
pub struct Normalization {
    /// The terminology and the table of health plans.
    pub knowledge: Knowledge,
    /// The current day.
    pub today: Day,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tag_system_base: String,
    /// Dangling references of the same source's previous sync, from its [`Report`](crate::normalize::Report).
    pub dangling: BTreeMap<u64, u32>,
    /// Called for each resource that is generated, changed or deleted.
    pub observer: Option<Observer>,
}

/// A resource that the rules generate, change or delete.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// The resource's type.
    pub resource_type: TypeId,
    /// The resource's id.
    pub id: &'c str,
    /// The text before. `None` for a new resource.
    pub before: Option<&'c str>,
    /// The text after. `None` for a deleted resource.
    pub after: Option<&'c str>,
}

/// Gets notified of changes, from several threads.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Change<'_>) + Send + Sync>);

impl Observer {
    /// An observer that calls a function.
    pub fn new(hear: impl Fn(&Change<'_>) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(hear))
    }

    fn hear(&self, change: &Change<'_>) {
        (self.0)(change);
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer(..)")
    }
}

impl std::fmt::Debug for Normalization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Normalization")
            .field("today", &self.today)
            .finish_non_exhaustive()
    }
}
