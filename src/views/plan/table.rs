//! A view over a lake as a SQL table. A query evaluates only the columns that it names. Its filters on these columns
//! are pushed down to the scan.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::super::naming::Naming;
use super::super::output::stop::Stop;
use super::super::view::View;
use super::exec::ViewExec;
use super::predicate;
use super::typed::TypedExec;
use crate::lake::scan::{Predicate, ROW, ScanRequest, ScopedTable, Watch, expression};

/// A view over the table of its resource type. Its columns have SQL types.
#[derive(Debug)]
pub struct ViewTable {
    view: Arc<View>,
    table: ScopedTable,
    schema: SchemaRef,
    naming: Option<Naming>,
}

impl ViewTable {
    /// Returns a view as a table. `table` is the table of the view's resource type, in the scope of the reader.
    pub fn new(view: &View, table: ScopedTable) -> ViewTable {
        ViewTable {
            view: view.for_run(),
            schema: view.typed_schema(),
            table,
            naming: None,
        }
    }

    /// Returns the same table. If a value does not fit its type, `naming` finds the resource.
    pub fn named_by(self, naming: Naming) -> ViewTable {
        ViewTable {
            naming: Some(naming),
            ..self
        }
    }

    /// Returns the same table. `watch` records what each query reads.
    pub fn watched(&self, watch: &Arc<Watch>) -> ViewTable {
        ViewTable {
            view: self.view.clone(),
            table: self.table.clone().watched(watch),
            schema: self.schema.clone(),
            naming: self.naming.clone(),
        }
    }
}

#[async_trait::async_trait]
impl TableProvider for ViewTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    /// The scan gets only a necessary condition on resources, so the query must still apply the filter to the rows.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.view.sought(filter) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let view = match projection {
            Some(columns) => Arc::new(self.view.project(columns)),
            None => self.view.clone(),
        };
        let sought = filters.iter().filter_map(|filter| self.view.sought(filter));
        let mut predicates: Vec<Arc<dyn Predicate>> = sought.collect();
        if view.has_filter() {
            predicates.push(predicate::of(std::slice::from_ref(&view)));
        }
        let mut leaves = view.leaves().clone();
        for predicate in &predicates {
            leaves.extend(predicate.leaves().iter().cloned());
        }
        // A consumer may read the rows slowly. Hold the files, so that they stay readable.
        let table = self.table.held(None)?;
        let provider = table.provider(ScanRequest {
            leaves,
            is_costly: true,
            ..ScanRequest::default()
        });
        let schema = provider.schema();
        let filters: Vec<Expr> = predicates
            .into_iter()
            .map(|predicate| expression(predicate, &schema))
            .collect();
        let read = table.schema(view.leaves());
        let mut columns: Vec<usize> = (0..schema.fields().len())
            .filter(|at| read.index_of(schema.field(*at).name()).is_ok())
            .collect();
        if columns.is_empty() {
            // If a batch had no columns, some operators would not know its number of rows. So read the column `ROW`.
            columns.push(schema.index_of(ROW)?);
        }
        let scan = provider.scan(state, Some(&columns), &filters, None).await?;
        let rows = Arc::new(ViewExec::new(view.clone(), scan, false, Stop::default()));
        Ok(Arc::new(TypedExec::new(view, rows, self.naming.clone())))
    }
}
