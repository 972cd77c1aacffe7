//! The dynamic filter of a semi-join: a condition on the rows of one scan. The condition becomes known only after other
//! plans have run.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::{BooleanArray, RecordBatch};
use datafusion::common::{Result, internal_err};

use crate::columns::conditions::{IdSet, Necessary};
use crate::fhir::storage::LeafSet;
use crate::lake::scan::Predicate;

/// Decides which rows of a table match a set of ids.
pub trait Link: Any + fmt::Debug + Send + Sync {
    /// Returns the condition that a row matches these ids. `ids` has one set for each plan that finds ids, in the order
    /// of `On::ids`.
    fn condition(&self, ids: &[Arc<IdSet>]) -> Result<Arc<dyn Predicate>>;
}

/// A condition that compares rows with ids. It becomes part of a plan before the ids are known. The semi-join sets the
/// ids before it starts the scan. The scan asks for the necessary condition only when it begins to read.
#[derive(Debug)]
pub struct DynamicFilter {
    label: Arc<str>,
    leaves: LeafSet,
    link: Box<dyn Link>,
    nothing: Necessary,
    known: OnceLock<Arc<dyn Predicate>>,
}

impl DynamicFilter {
    /// Creates a condition without ids. `leaves` are all leaves that it may read.
    pub fn new(label: Arc<str>, leaves: LeafSet, link: Box<dyn Link>) -> DynamicFilter {
        DynamicFilter {
            label,
            leaves,
            link,
            nothing: Necessary::default(),
            known: OnceLock::new(),
        }
    }

    /// Returns the link, which turns ids into a condition.
    pub fn link(&self) -> &dyn Link {
        self.link.as_ref()
    }

    /// Whether the ids are known.
    pub fn is_known(&self) -> bool {
        self.known.get().is_some()
    }

    /// Sets the ids. If they are set already, the call has no effect.
    pub fn tell(&self, ids: &[Arc<IdSet>]) -> Result<()> {
        if !self.is_known() {
            let condition = self.link.condition(ids)?;
            self.known.get_or_init(|| condition);
        }
        Ok(())
    }
}

impl Predicate for DynamicFilter {
    fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    fn is_late(&self) -> bool {
        !self.is_known()
    }

    fn necessary(&self) -> &Necessary {
        self.known.get().map_or(&self.nothing, |known| known.necessary())
    }

    fn cost(&self) -> u64 {
        self.known.get().map_or(1, |known| known.cost())
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        match self.known.get() {
            Some(known) => known.keep(batch),
            None => internal_err!("the condition '{}' is asked before it is known", self.label),
        }
    }
}

/// The dynamic filters of one plan, by number. When a plan is written as bytes, a filter and the semi-join that sets
/// its ids get the same number.
#[derive(Debug, Default)]
pub struct DynamicFilters(Mutex<Vec<(usize, Arc<DynamicFilter>)>>);

impl DynamicFilters {
    /// Returns the number of a filter. A filter that is not in the list is added with the next number.
    pub fn number(&self, filter: &Arc<DynamicFilter>) -> usize {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, _)) = known.iter().find(|(_, other)| Arc::ptr_eq(filter, other)) {
            return *number;
        }
        let number = known.len();
        known.push((number, filter.clone()));
        number
    }

    /// Returns the filter with this number. `None` if there is none.
    pub fn get(&self, number: usize) -> Option<Arc<DynamicFilter>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(other, _)| *other == number);
        found.map(|(_, filter)| filter.clone())
    }

    /// Adds a filter under this number.
    pub fn keep(&self, number: usize, filter: &Arc<DynamicFilter>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((number, filter.clone()));
    }
}
