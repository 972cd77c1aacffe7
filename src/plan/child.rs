//! The input of an operator with one child.

use std::sync::Arc;

use datafusion::common::{Result, internal_err};
use datafusion::physical_plan::ExecutionPlan;

/// Returns the only child that DataFusion gives to an operator. With another number of children, a planner rule has a
/// bug. Then returns an error with the operator's name.
pub fn only_child(operator: &str, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match (children.pop(), children.is_empty()) {
        (Some(child), true) => Ok(child),
        _ => internal_err!("{operator} has one child"),
    }
}
