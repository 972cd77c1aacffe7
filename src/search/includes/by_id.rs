//! Reads the targets of references by their ids, as a lookup of a plan.
//!
//! Only a search with a trace runs this lookup. Its explanation then shows a plan for the targets, and another process
//! can run this plan. Any other search reads the same rows without a plan.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};

use super::super::SearchError;
use crate::fhir::facts;
use crate::lake::scan::{Locator, PlacedRow, ScopedTable, Sought};
use crate::plan::Lookup;

/// For each requested id, the row that was found. `None` if the rows together have more than `max_bytes` bytes.
type Answer = Option<Vec<PlacedRow>>;

/// Looks up resources of a table by their ids. In a plan, the lookup yields the locators of the resources that it
/// finds.
#[derive(Debug)]
pub(in crate::search) struct ById {
    label: String,
    pub(in crate::search) table: ScopedTable,
    pub(in crate::search) sought: Vec<Sought>,
    max_bytes: usize,
    /// The answer of the last run, until `take` returns it. The outer `None` means that the lookup keeps no answer and
    /// only yields locators.
    answer: Option<Mutex<Option<Answer>>>,
}

impl ById {
    /// Creates a lookup that only yields locators and keeps no answer.
    pub(in crate::search) fn new(table: &ScopedTable, sought: Vec<Sought>) -> ById {
        ById {
            label: format!("{} by id, ids={}", facts().get(table.type_id()).name, sought.len()),
            table: table.clone(),
            sought,
            max_bytes: usize::MAX,
            answer: None,
        }
    }

    /// Creates a lookup that keeps its answer for [`take`](Self::take). If the found rows have more than `max_bytes`
    /// bytes, the answer has no rows.
    pub(in crate::search) fn answering(table: &ScopedTable, sought: Vec<Sought>, max_bytes: usize) -> Arc<ById> {
        Arc::new(ById {
            max_bytes,
            answer: Some(Mutex::default()),
            ..ById::new(table, sought)
        })
    }

    /// Returns the answer of the last run, and removes it. Returns `None` if the lookup has no answer.
    pub(in crate::search) fn take(&self) -> Option<Answer> {
        let answer = self.answer.as_ref()?;
        answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Lookup for ById {
    fn label(&self) -> &str {
        &self.label
    }

    fn schema(&self) -> SchemaRef {
        Locator::schema()
    }

    fn rows(&self) -> Result<RecordBatch> {
        let answer = self.table.read_all(&self.sought, self.max_bytes);
        let answer = answer.map_err(|error| DataFusionError::External(Box::new(SearchError::from(error))))?;
        let found = answer.iter().flatten().flatten();
        let locators: Vec<Locator> = found.map(|(locator, _)| *locator).collect();
        if let Some(kept) = &self.answer {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        }
        Ok(RecordBatch::try_new(self.schema(), Locator::columns(&locators).into())?)
    }
}
