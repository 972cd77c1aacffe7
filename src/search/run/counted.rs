//! A plan that counts rows: it counts the rows of each partition, and adds the counts.
//!
//! The operators are built without a planner, as in `sorted`, because planning a count over few rows takes longer than
//! counting them.

use std::sync::Arc;

use datafusion::functions_aggregate::count::count_udaf;
use datafusion::physical_expr::aggregate::AggregateExprBuilder;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use super::super::SearchError;

/// Returns a plan that yields the number of the rows that the plan `rows` yields. Its result is one row with one
/// column.
pub(in crate::search) fn count(rows: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>, SearchError> {
    let schema = rows.schema();
    let all = AggregateExprBuilder::new(count_udaf(), vec![lit(1_i64)]);
    let all = Arc::new(all.schema(schema.clone()).alias("count(*)").build()?);
    let counted = |mode, input| {
        AggregateExec::try_new(
            mode,
            PhysicalGroupBy::default(),
            vec![all.clone()],
            vec![None],
            input,
            schema.clone(),
        )
    };
    if rows.output_partitioning().partition_count() == 1 {
        return Ok(Arc::new(counted(AggregateMode::Single, rows)?));
    }
    let parts = Arc::new(counted(AggregateMode::Partial, rows)?);
    let sum = counted(AggregateMode::Final, Arc::new(CoalescePartitionsExec::new(parts)))?;
    Ok(Arc::new(sum))
}
