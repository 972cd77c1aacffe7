//! A node of logical plans that takes rows in the table's own order: it skips some rows and takes some, from the
//! table's beginning or end. The node sorts nothing. Rows stay in the order of the table's files, and within a file in
//! the order of its rows.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::exec::OrderedLimitExec;
use super::limit::Limit;

/// The rows that `limit` takes from the input, in the table's order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Hash)]
pub struct OrderedLimit {
    input: LogicalPlan,
    limit: Limit,
}

impl OrderedLimit {
    /// Puts a limit over a plan.
    pub fn plan(input: LogicalPlan, limit: Limit) -> LogicalPlan {
        LogicalPlan::Extension(Extension {
            node: Arc::new(OrderedLimit { input, limit }),
        })
    }
}

impl UserDefinedLogicalNodeCore for OrderedLimit {
    fn name(&self) -> &str {
        "OrderedLimit"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "OrderedLimit: {}", self.limit)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<OrderedLimit> {
        match (inputs.pop(), inputs.is_empty()) {
            (Some(input), true) => Ok(OrderedLimit {
                input,
                limit: self.limit,
            }),
            _ => internal_err!("OrderedLimit has one input"),
        }
    }

    /// The input yields only the columns that the parent of this node reads.
    fn necessary_children_exprs(&self, columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![columns.to_vec()])
    }
}

/// Creates the operator of an `OrderedLimit` node.
pub(in crate::plan) struct Ordered;

#[async_trait]
impl ExtensionPlanner for Ordered {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<OrderedLimit>() else {
            return Ok(None);
        };
        match inputs {
            [input] => Ok(Some(Arc::new(OrderedLimitExec::new(input.clone(), node.limit)))),
            _ => internal_err!("OrderedLimit has one input"),
        }
    }
}
