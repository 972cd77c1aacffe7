//! The rules of [`normalize`](crate::normalize) over what is taken in: one unit for each owner, which is one consent
//! of a sync or one filed patient of an import.
//!
//! The input is read twice. The first reading shows every record to its unit's survey, and then the unit's rows of
//! the lake that the input does not replace. Then each unit's plan is applied: to records before they are written,
//! and to the unit's rows. Generated resources are stored beside them, and those that an earlier run made and this
//! one does not are deleted, in the same snapshot.

mod kept;
mod plans;
mod shared;
mod units;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use plans::Plans;
pub(super) use units::Units;

use crate::fhir::TypeId;
use crate::normalize::{Day, Knowledge};

/// What the rules are given beside records.
#[derive(Clone)]
pub struct Normalization {
    /// The terminology and the table of health plans.
    pub knowledge: Knowledge,
    /// The day on which it is.
    pub today: Day,
    /// What the systems of our tags begin with, without a trailing slash.
    pub tag_system_base: String,
    /// References that led nowhere so far, of a sync: what the [`Report`](crate::normalize::Report) of the same
    /// source's sync before said.
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
