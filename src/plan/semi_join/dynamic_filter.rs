//! The dynamic filter of a semi-join: a condition on the rows of one scan that becomes known after other plans have
//! run.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::{BooleanArray, RecordBatch};
use datafusion::common::{Result, internal_err};

use crate::columns::conditions::{IdSet, Necessary};
use crate::fhir::storage::LeafSet;
use crate::lake::scan::Predicate;

/// The meaning of ids for the rows of a table.
pub trait Link: Any + fmt::Debug + Send + Sync {
    /// The condition for these ids, with one set for each plan that ran.
    fn condition(&self, ids: &[Arc<IdSet>]) -> Result<Arc<dyn Predicate>>;
}

/// A condition that plans hold before its ids are known. When the scan begins to read, it gets the necessary condition.
#[derive(Debug)]
pub struct DynamicFilter {
    label: Arc<str>,
    leaves: LeafSet,
    link: Box<dyn Link>,
    nothing: Necessary,
    known: OnceLock<Arc<dyn Predicate>>,
}

impl DynamicFilter {
    /// A condition that reads at most these leaves.
    pub fn new(label: Arc<str>, leaves: LeafSet, link: Box<dyn Link>) -> DynamicFilter {
        DynamicFilter {
            label,
            leaves,
            link,
            nothing: Necessary::default(),
            known: OnceLock::new(),
        }
    }

    /// The meaning of the ids.
    pub fn link(&self) -> &dyn Link {
        self.link.as_ref()
    }

    /// Whether the ids are known.
    pub fn is_known(&self) -> bool {
        self.known.get().is_some()
    }

    /// Sets the ids. All later readers get the same ids.
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

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        match self.known.get() {
            Some(known) => known.keep(batch),
            None => internal_err!("the condition '{}' is asked before it is known", self.label),
        }
    }
}

/// The dynamic filters of one plan, by number. A filter and the semi-join that sets its ids have the same number.
#[derive(Debug, Default)]
pub struct DynamicFilters(Mutex<Vec<(usize, Arc<DynamicFilter>)>>);

impl DynamicFilters {
    /// The number of a filter. A new filter gets a new number.
    pub fn number(&self, filter: &Arc<DynamicFilter>) -> usize {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((number, _)) = known.iter().find(|(_, other)| Arc::ptr_eq(filter, other)) {
            return *number;
        }
        let number = known.len();
        known.push((number, filter.clone()));
        number
    }

    /// The filter with this number.
    pub fn get(&self, number: usize) -> Option<Arc<DynamicFilter>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().find(|(other, _)| *other == number);
        found.map(|(_, filter)| filter.clone())
    }

    /// Gives a filter a number.
    pub fn keep(&self, number: usize, filter: &Arc<DynamicFilter>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.push((number, filter.clone()));
    }
}
