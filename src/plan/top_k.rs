//! An optimizer rule for a sort with a limit. It tells the scan below about the sort. The scan then skips rows that the
//! sort cannot return.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

use super::semi_join::SemiJoinExec;
use crate::lake::scan::LakeScanExec;

/// Tells a scan how many rows the sort above it returns, and the first key of the sort.
#[derive(Debug)]
pub struct PushDownTopK;

impl PhysicalOptimizerRule for PushDownTopK {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let told = plan.transform_down(|plan| {
            let Some(sort) = plan.downcast_ref::<SortExec>() else {
                return Ok(Transformed::no(plan));
            };
            let told = match sort.fetch() {
                Some(fetch) => told(sort.input(), sort.expr().first(), fetch)?,
                None => None,
            };
            Ok(match told {
                Some(told) => Transformed::yes(over(plan, vec![told])?),
                None => Transformed::no(plan),
            })
        })?;
        Ok(told.data)
    }

    fn name(&self) -> &str {
        "PushDownTopK"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns a copy of a plan whose scan knows the sort. The scan is the plan itself, or is below semi-joins, on their
/// left side. Returns `None` if the plan has another form.
fn told(rows: &Arc<dyn ExecutionPlan>, key: &PhysicalSortExpr, fetch: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = rows.downcast_ref::<LakeScanExec>() {
        return Ok(Some(Arc::new(scan.with_top_k(key, fetch))));
    }
    if !rows.is::<SemiJoinExec>() {
        return Ok(None);
    }
    let mut sides: Vec<_> = rows.children().into_iter().cloned().collect();
    let Some(left) = told(&sides[0], key, fetch)? else {
        return Ok(None);
    };
    sides[0] = left;
    over(rows.clone(), sides).map(Some)
}

fn over(plan: Arc<dyn ExecutionPlan>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}
