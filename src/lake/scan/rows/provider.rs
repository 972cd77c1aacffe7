//! A scoped table as a DataFusion table provider. The scan applies the filters that DataFusion pushes down: it skips
//! rows by statistics and dictionary codes, and decodes columns that no filter reads only for the remaining rows.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::super::conditions::lower;
use super::super::conditions::lower::Lowered;
use super::super::lookup::locator;
use super::super::report::counts::ScanReport;
use super::super::table::ScopedTable;
use super::clip::Clip;
use super::exec::{Asked, LakeScanExec};
use super::request::ScanRequest;
use super::resolved::{Scan, Unsettled};

/// A table provider over the rows that a scope shows. The locator columns follow the requested columns.
#[derive(Debug)]
pub struct LakeProvider {
    table: ScopedTable,
    request: Arc<ScanRequest>,
    clip: Clip,
    schema: SchemaRef,
    scans: Mutex<Vec<Arc<Scan>>>,
}

impl ScopedTable {
    /// Returns a DataFusion table provider over these rows. The locator columns follow the requested columns.
    pub fn provider(&self, request: ScanRequest) -> Arc<LakeProvider> {
        Arc::new(LakeProvider::new(self.clone(), request))
    }
}

impl LakeProvider {
    pub(in crate::lake::scan) fn new(table: ScopedTable, request: ScanRequest) -> LakeProvider {
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
            request: Arc::new(request),
            clip,
            schema: Arc::new(Schema::new(fields)),
            scans: Mutex::default(),
        }
    }

    /// Plans a scan of the rows that pass the filters. The scan yields the columns `projection` (all columns if
    /// `None`), and at most `limit` rows per partition.
    pub fn scan_of(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<LakeScanExec> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => self.schema.clone(),
        };
        let request = || ScanRequest::clone(&self.request);
        let lowered = Lowered::of(filters, &self.table, &self.request.leaves, state)?;
        let output = self.clip.retain(|name| schema.index_of(name).is_ok());
        // The necessary condition of a late predicate is known only when reading begins. Then the scan is resolved
        // again from the lowered filters. So keep a copy of them, but only if there is a late predicate.
        let unsettled = (!lowered.late.is_empty()).then(|| Unsettled::new(output.clone(), request(), lowered.clone()));
        let scan = Arc::new(Scan::new(
            self.table.clone(),
            schema,
            &output,
            request(),
            lowered.settled(),
        ));
        if let Some(watch) = self.table.watch().filter(|_| unsettled.is_none()) {
            watch.scan(scan.seen(), &scan.account);
        }
        self.scans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(scan.clone());
        let asked = Asked {
            request: self.request.clone(),
            filters: filters.into(),
        };
        let partitions = state.config().target_partitions();
        Ok(LakeScanExec::new(scan, asked, unsettled, partitions, limit))
    }

    /// Returns the sum of the reports of all scans that were planned from this provider.
    pub fn report(&self) -> ScanReport {
        let scans = self.scans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = ScanReport::default();
        for scan in scans.iter() {
            sum.add(&scan.account.report(self.table.files().len()));
        }
        sum
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
        Ok(filters.iter().map(|filter| lower::support(filter, columns)).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.scan_of(state, projection, filters, limit)?))
    }
}
