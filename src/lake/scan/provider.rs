//! A scoped table as DataFusion sees it. Filters that DataFusion pushes down become row predicates of the scan, so that
//! their columns are decoded first and the others for the rows that are left.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::unnormalize_col;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::clip::Clip;
use super::exec::LakeScanExec;
use super::locator;
use super::report::ScanReport;
use super::request::{RowPredicate, ScanRequest};
use super::resolved::Scan;
use super::table::ScopedTable;
use crate::fhir::storage::{EVERYTHING, LeafSet};

/// A table provider over the rows that a scope shows, with locator columns behind the clipped ones.
#[derive(Debug)]
pub struct LakeProvider {
    table: ScopedTable,
    request: ScanRequest,
    clip: Clip,
    schema: SchemaRef,
    scans: Mutex<Vec<Arc<Scan>>>,
}

impl LakeProvider {
    pub(super) fn new(table: ScopedTable, request: ScanRequest) -> LakeProvider {
        let clip = table.clip(&request.leaves);
        let fields: Vec<FieldRef> = clip
            .schema()
            .fields()
            .iter()
            .cloned()
            .chain(locator::fields())
            .collect();
        LakeProvider {
            table,
            request,
            clip,
            schema: Arc::new(Schema::new(fields)),
            scans: Mutex::default(),
        }
    }

    /// What the scans planned from this provider have read so far.
    pub fn report(&self) -> ScanReport {
        let scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = ScanReport::default();
        for scan in scans.iter() {
            sum.add(&scan.account.report(self.table.files().len()));
        }
        sum
    }

    /// A filter expression over this provider's columns as a row predicate.
    fn predicate(&self, state: &dyn Session, filter: &Expr) -> Result<RowPredicate> {
        let columns = filter.column_refs();
        let named = |leaf: &&String| {
            let root = leaf.split('.').next().unwrap_or_default();
            columns.iter().any(|column| column.name == root)
        };
        let mut leaves: LeafSet = self.request.leaves.iter().filter(named).cloned().collect();
        if self.request.leaves.contains(EVERYTHING) {
            leaves.extend(columns.iter().map(|column| format!("{}.{EVERYTHING}", column.name)));
        }
        let schema = self.table.schema(&leaves);
        let filter = unnormalize_col(filter.clone());
        let expr = state.create_physical_expr(filter.clone(), &DFSchema::try_from(schema.as_ref().clone())?)?;
        let keep = move |batch: &RecordBatch| -> Result<BooleanArray> {
            let value = expr.evaluate(batch)?.into_array(batch.num_rows())?;
            Ok(as_boolean_array(&value)?.clone())
        };
        Ok(RowPredicate {
            leaves,
            keep: Arc::new(keep),
            label: filter.to_string().into(),
        })
    }
}

#[async_trait::async_trait]
impl TableProvider for LakeProvider {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let columns = self.clip.schema();
        let support = |filter: &&Expr| {
            let known = filter
                .column_refs()
                .iter()
                .all(|column| columns.index_of(&column.name).is_ok());
            match known && !filter.is_volatile() && !filter.column_refs().is_empty() {
                true => TableProviderFilterPushDown::Exact,
                false => TableProviderFilterPushDown::Unsupported,
            }
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => self.schema.clone(),
        };
        let mut predicates = self.request.predicates.clone();
        for filter in filters {
            predicates.push(self.predicate(state, filter)?);
        }
        let output = self.clip.retain(|name| schema.index_of(name).is_ok());
        let request = ScanRequest {
            predicates,
            ..self.request.clone()
        };
        let scan = Arc::new(Scan::new(self.table.clone(), schema, &output, request));
        if let Some(watch) = self.table.watch() {
            watch.scan(&scan);
        }
        self.scans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(scan.clone());
        let partitions = state.config().target_partitions();
        Ok(Arc::new(LakeScanExec::new(scan, partitions, limit)))
    }
}
