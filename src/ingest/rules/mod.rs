//! The rules of [`normalize`](crate::normalize) over what is taken in: one unit for each owner, which is one consent
//! of a sync or one filed patient of an import.
//!
//! While the input is read, its records are sorted by ranges of owners ([`Gathered`]): in memory up to a bound, then in
//! a temporary file. Then range after range is worked on by all cores: each unit's records are shown to a survey, and
//! then the owner's rows of the lake that they do not replace. The plan that comes of it is applied to the records
//! before they are written, and to the rows. Generated resources are stored beside them, and those that an earlier run
//! made and this one does not are deleted, in the same snapshot. Memory is bounded by a range, or by the facts of one
//! large unit.

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
    /// The day on which it is.
    pub today: Day,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tag_system_base: String,
    /// Dangling references of the same source's previous sync, from its [`Report`](crate::normalize::Report).
    pub dangling: BTreeMap<u64, u32>,
    /// Told of each resource that is made, changed or deleted.
    pub observer: Option<Observer>,
}

/// A resource that the rules make, change or delete.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// Its type.
    pub resource_type: TypeId,
    /// Its id.
    pub id: &'c str,
    /// Its text, if there was one.
    pub before: Option<&'c str>,
    /// Its text, if there will be one.
    pub after: Option<&'c str>,
}

/// Hears of changes, from several threads.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Change<'_>) + Send + Sync>);

impl Observer {
    /// One that calls a function.
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
