//! Semi-joins and their sets of ids as nodes of logical plans, and the planner that turns these nodes into operators.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};

use super::exec::{On, SemiJoinExec};
use super::ids::{self, IdsExec};

/// A leaf node for a plan that collects ids. The plan is already physical, because its scan may contain the results of
/// other plans. The scan was planned after these plans had run.
#[derive(Clone, Debug)]
pub struct Ids {
    exec: Arc<IdsExec>,
    schema: DFSchemaRef,
}

impl Ids {
    fn node(exec: Arc<IdsExec>) -> Result<LogicalPlan> {
        let schema = Arc::new(DFSchema::try_from(ids::schema())?);
        let node = Arc::new(Ids { exec, schema });
        Ok(LogicalPlan::Extension(Extension { node }))
    }
}

impl PartialEq for Ids {
    fn eq(&self, other: &Ids) -> bool {
        Arc::ptr_eq(&self.exec, &other.exec)
    }
}

impl Eq for Ids {}

impl Hash for Ids {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.exec).hash(state);
    }
}

impl PartialOrd for Ids {
    fn partial_cmp(&self, other: &Ids) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for Ids {
    fn name(&self) -> &str {
        "Ids"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        Vec::new()
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Ids: {}", self.exec.label())
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Ids> {
        if inputs.is_empty() {
            Ok(self.clone())
        } else {
            internal_err!("Ids has no inputs")
        }
    }

    fn necessary_children_exprs(&self, _: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(Vec::new())
    }
}

/// A semi-join as a logical node. It returns the rows of the left side. The filter of the left side's scan receives the
/// ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SemiJoin {
    left: LogicalPlan,
    /// The sets of ids. Each is an `Ids` node.
    ids: Vec<LogicalPlan>,
    on: On,
}

impl SemiJoin {
    /// Puts a semi-join for each condition over a logical plan. The filter of the plan's scan must already contain the
    /// conditions.
    pub fn over(joins: &[On], left: LogicalPlan) -> Result<LogicalPlan> {
        joins.iter().try_fold(left, |left, on| SemiJoin::node(left, on.clone()))
    }

    fn node(left: LogicalPlan, on: On) -> Result<LogicalPlan> {
        let ids = on.ids.iter().map(|exec| Ids::node(exec.clone()));
        let ids = ids.collect::<Result<_>>()?;
        let node = Arc::new(SemiJoin { left, ids, on });
        Ok(LogicalPlan::Extension(Extension { node }))
    }
}

impl PartialOrd for SemiJoin {
    fn partial_cmp(&self, other: &SemiJoin) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for SemiJoin {
    fn name(&self) -> &str {
        "SemiJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        std::iter::once(&self.left).chain(&self.ids).collect()
    }

    fn schema(&self) -> &DFSchemaRef {
        self.left.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SemiJoin: {}", self.on.label)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<SemiJoin> {
        if inputs.len() != 1 + self.ids.len() {
            return internal_err!("SemiJoin has {} inputs", 1 + self.ids.len());
        }
        Ok(SemiJoin {
            left: inputs.remove(0),
            ids: inputs,
            on: self.on.clone(),
        })
    }

    /// The left side yields only the columns that the parent of this node reads. Each set of ids yields its only
    /// column.
    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        let ids = self.ids.iter().map(|_| vec![0]);
        Some(std::iter::once(output.to_vec()).chain(ids).collect())
    }
}

/// Creates the operators of `SemiJoin` and `Ids` nodes.
#[derive(Debug)]
pub struct SemiJoinPlanner;

#[async_trait]
impl ExtensionPlanner for SemiJoinPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(ids) = node.as_any().downcast_ref::<Ids>() {
            return Ok(Some(ids.exec.clone()));
        }
        let Some(join) = node.as_any().downcast_ref::<SemiJoin>() else {
            return Ok(None);
        };
        match inputs.first() {
            Some(left) => Ok(Some(Arc::new(SemiJoinExec::new(left.clone(), join.on.clone())))),
            None => internal_err!("a semi-join without a left side"),
        }
    }
}
