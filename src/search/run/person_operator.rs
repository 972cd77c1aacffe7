//! Runs work on one person's columns as the operator of a plan.
//!
//! An explained search runs this operator, so that its explanation shows the plan. Any other search calls the same
//! function without a plan, because a stream and a copy of the query would cost more than most of these searches.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{Result, exec_err};
use datafusion::physical_plan::{ExecutionPlan, collect};

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::joins::other::of_one_person;
use super::super::parameters::query::Query;
use super::trace::Trace;
use crate::lake::scan::ScopedTable;
use crate::plan::{Lookup, LookupExec};

impl Engine {
    /// Runs work on one person's columns and returns its result. `label` returns the text that the plan shows after the
    /// filter. `size` returns the number of rows in the result. Only explanations use `label` and `size`.
    pub(in crate::search) async fn of_person<T: Send + 'static>(
        &self,
        table: &ScopedTable,
        query: &Query,
        label: impl FnOnce() -> String,
        work: impl Fn(&ScopedTable, &Query) -> Result<T, SearchError> + Send + Sync + 'static,
        size: fn(&T) -> usize,
    ) -> Result<T, SearchError> {
        if !query.trace.is_on() {
            return work(table, query);
        }
        let operator = Arc::new(OnPerson {
            label: format!("{}{}", of_one_person(table, &query.criteria), label()),
            work: {
                // The trace holds the plan, so the plan must not hold the trace.
                let query = query.clone().traced(&Trace::default());
                let table = table.clone();
                Box::new(move || work(&table, &query))
            },
            size,
            done: Mutex::new(None),
        });
        let plan: Arc<dyn ExecutionPlan> = Arc::new(LookupExec::new(operator.clone()));
        let ran = collect(plan.clone(), self.sessions().parallel().context()).await;
        query.trace.shown(plan.as_ref());
        let done = operator.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (done, ran) {
            (Some(done), _) => done,
            (None, Err(error)) => Err(error.into()),
            (None, Ok(_)) => Err(SearchError::Unanswered),
        }
    }
}

/// The work as a lookup. It yields no columns, because the caller takes the result from `done`.
struct OnPerson<T> {
    label: String,
    work: Box<dyn Fn() -> Result<T, SearchError> + Send + Sync>,
    size: fn(&T) -> usize,
    done: Mutex<Option<Result<T, SearchError>>>,
}

impl<T: Send + 'static> Lookup for OnPerson<T> {
    fn label(&self) -> &str {
        &self.label
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::empty())
    }

    fn rows(&self) -> Result<RecordBatch> {
        let done = (self.work)();
        let rows = done.as_ref().ok().map(self.size);
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        let Some(rows) = rows else {
            return exec_err!("the work on a person's columns failed");
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(self.schema(), Vec::new(), &options)?)
    }
}

impl<T> fmt::Debug for OnPerson<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnPerson")
            .field("label", &self.label)
            .finish_non_exhaustive()
    }
}
