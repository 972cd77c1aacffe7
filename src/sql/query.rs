//! A planned statement, which yields its columns, its rows or its plan.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::{Stream, StreamExt};

use super::error::SqlError;
use crate::lake::scan::Watch;
use crate::plan::scans_text;

/// A statement that is ready to run.
#[derive(Debug)]
pub struct Query {
    pub(super) logical: LogicalPlan,
    pub(super) physical: Arc<dyn ExecutionPlan>,
    pub(super) context: Arc<TaskContext>,
    /// `None` if rows are wanted, `Some(false)` for the plan, `Some(true)` for the plan with the metrics of a run.
    pub(super) shows: Option<bool>,
    /// The scans hold the watch only weakly, so this field keeps it alive. While the watch exists, the scans record in
    /// it why they skip row groups. `None` unless the plan with metrics is wanted.
    pub(super) _watch: Option<Arc<Watch>>,
}

impl Query {
    /// Returns the columns of the statement's rows.
    pub fn schema(&self) -> SchemaRef {
        self.physical.schema()
    }

    /// Returns the physical plan.
    pub fn physical(&self) -> &Arc<dyn ExecutionPlan> {
        &self.physical
    }

    /// Whether the caller wants the plan instead of rows.
    pub fn is_plan(&self) -> bool {
        self.shows.is_some()
    }

    /// Runs the statement. Returns its rows in the statement's order. Dropping the stream ends the run.
    pub fn rows(&self) -> Result<impl Stream<Item = Result<RecordBatch, SqlError>> + use<>, SqlError> {
        let stream = execute_stream(self.physical.clone(), self.context.clone()).map_err(SqlError::of_run)?;
        Ok(stream.map(|batch| batch.map_err(SqlError::of_run)))
    }

    /// Returns the logical and the physical plan as text. If the metrics of a run are wanted, the statement runs first.
    /// Then the text includes the metrics, and what each scan has read and skipped.
    pub async fn plan(&self) -> Result<String, SqlError> {
        let mut text = format!("{}\n\n", self.logical.display_indent());
        let plan = if self.shows == Some(true) {
            let mut rows = Box::pin(self.rows()?);
            while let Some(batch) = rows.next().await {
                batch?;
            }
            DisplayableExecutionPlan::with_metrics(self.physical.as_ref())
        } else {
            DisplayableExecutionPlan::new(self.physical.as_ref())
        };
        let _ = write!(text, "{}", plan.indent(true));
        text.push_str(&scans_text(self.physical.as_ref()));
        Ok(text)
    }
}
