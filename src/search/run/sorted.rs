//! The plan of a sorted page: a scan, a sort that keeps no more rows than needed for the page, and a limit that skips
//! earlier rows.
//!
//! The operators are built without the planner, because they are always the same, and DataFusion's rules would take as
//! long as a search over some thousand rows. Only two rules are applied: one tells the scan how many rows the sort
//! keeps, the other passes the sort's current bound to the scan.

use std::sync::Arc;

use datafusion::common::DFSchema;
use datafusion::logical_expr::SortExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::super::SearchError;
use crate::plan::{Planner, PushDownTopK};

/// Returns a plan that sorts the rows by `keys`, skips the first `skip` rows and yields the next `take` rows.
pub(in crate::search) fn page(
    planner: &Planner,
    rows: Arc<dyn ExecutionPlan>,
    keys: Vec<SortExpr>,
    skip: usize,
    take: usize,
) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
    let max_rows = skip.saturating_add(take);
    let schema = DFSchema::try_from(rows.schema())?;
    let key = |key: SortExpr| -> Result<PhysicalSortExpr, SearchError> {
        let expr = planner.state().create_physical_expr(key.expr, &schema)?;
        let options = arrow::compute::SortOptions {
            descending: !key.asc,
            nulls_first: key.nulls_first,
        };
        Ok(PhysicalSortExpr { expr, options })
    };
    let keys = keys.into_iter().map(key).collect::<Result<Vec<_>, _>>()?;
    let Some(order) = LexOrdering::new(keys) else {
        return Ok(rows);
    };
    let several = rows.output_partitioning().partition_count() > 1;
    let sorted = SortExec::new(order.clone(), rows)
        .with_fetch(Some(max_rows))
        .with_preserve_partitioning(several);
    let mut plan: Arc<dyn ExecutionPlan> = Arc::new(sorted);
    if several {
        plan = Arc::new(SortPreservingMergeExec::new(order, plan).with_fetch(Some(max_rows)));
    }
    if skip > 0 {
        plan = Arc::new(GlobalLimitExec::new(plan, skip, Some(take)));
    }
    let options = planner.state().config_options();
    let plan = PushDownTopK.optimize(plan, options)?;
    Ok(FilterPushdown::new_post_optimization().optimize(plan, options)?)
}
