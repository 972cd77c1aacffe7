//! A semi-join. It returns rows of one plan, the left side. Either these rows refer to rows of other plans, or rows of
//! the other plans refer to them.
//!
//! The other plans run first and yield ids. The ids become a condition (`DynamicFilter`) in the filter of the left
//! side's scan, which then skips files, row groups and rows. The semi-join operator itself compares nothing.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::filter_pushdown::{ChildFilterDescription, FilterDescription, FilterPushdownPhase};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, SendableRecordBatchStream,
};
use futures::{TryStreamExt, stream};

use super::dynamic_filter::DynamicFilter;
use super::ids::IdsExec;

/// The condition of a semi-join: its label in plans, the plans that find ids, and the filter that receives them.
#[derive(Clone, Debug)]
pub struct On {
    /// The condition as text, for plans.
    pub label: Arc<str>,
    /// The plans that find ids, in the order in which `Link::condition` gets their sets.
    pub ids: Vec<Arc<IdsExec>>,
    /// The filter in the left side's scan that receives the ids. `None` if the ids were known when the left side was
    /// planned.
    pub filter: Option<Arc<DynamicFilter>>,
}

impl On {
    /// Puts a semi-join for each condition over a physical plan. The filter of the plan's scan must already contain the
    /// conditions.
    pub fn over_physical(joins: &[On], left: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let over = |left, on: &On| -> Arc<dyn ExecutionPlan> { Arc::new(SemiJoinExec::new(left, on.clone())) };
        joins.iter().fold(left, over)
    }

    /// Whether the ids are known, so that the left side can run.
    fn is_known(&self) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.is_known())
    }

    /// Finds the ids and sets them in the filter.
    async fn settle(&self, context: &Arc<TaskContext>) -> Result<()> {
        let mut found = Vec::with_capacity(self.ids.len());
        for ids in &self.ids {
            found.push(ids.ids(context).await?);
        }
        match &self.filter {
            Some(filter) => filter.tell(&found),
            None => Ok(()),
        }
    }
}

/// Two conditions are equal if their labels are equal and their plans are the same objects in memory.
impl PartialEq for On {
    fn eq(&self, other: &On) -> bool {
        let ids = |on: &On| on.ids.iter().map(Arc::as_ptr).collect::<Vec<_>>();
        self.label == other.label && ids(self) == ids(other)
    }
}

impl Eq for On {}

impl Hash for On {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.label.hash(state);
    }
}

/// Runs the plans that find ids, sets the ids in the filter of the left side's scan, then runs the left side.
#[derive(Debug)]
pub struct SemiJoinExec {
    left: Arc<dyn ExecutionPlan>,
    /// The plans of `on.ids`, as children of this operator.
    ids: Vec<Arc<dyn ExecutionPlan>>,
    on: On,
    properties: Arc<PlanProperties>,
}

impl SemiJoinExec {
    pub(super) fn new(left: Arc<dyn ExecutionPlan>, on: On) -> SemiJoinExec {
        let properties = if on.is_known() {
            left.properties().clone()
        } else {
            Arc::new(PlanProperties::new(
                left.equivalence_properties().clone(),
                left.output_partitioning().clone(),
                EmissionType::Incremental,
                Boundedness::Bounded,
            ))
        };
        SemiJoinExec {
            ids: on.ids.iter().map(|exec| exec.clone() as _).collect(),
            left,
            on,
            properties,
        }
    }
}

impl SemiJoinExec {
    /// Returns the condition of the join.
    pub fn on(&self) -> &On {
        &self.on
    }

    /// Returns the left side if the ids were known when the left side was planned. Otherwise returns `None`.
    pub fn settled(&self) -> Option<&Arc<dyn ExecutionPlan>> {
        self.on.filter.is_none().then_some(&self.left)
    }
}

impl DisplayAs for SemiJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SemiJoinExec: on=[{}]", self.on.label)
    }
}

impl ExecutionPlan for SemiJoinExec {
    fn name(&self) -> &str {
        "SemiJoinExec"
    }

    fn schema(&self) -> SchemaRef {
        self.left.schema()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        std::iter::once(&self.left).chain(&self.ids).collect()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.children().iter().enumerate().map(|(at, _)| at == 0).collect()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; 1 + self.ids.len()]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.len() != 1 + self.ids.len() {
            return internal_err!("SemiJoinExec has {} children", 1 + self.ids.len());
        }
        let left = children.remove(0);
        let mut on = self.on.clone();
        for (known, plan) in on.ids.iter_mut().zip(children) {
            let Some(ids) = plan.downcast_ref::<IdsExec>() else {
                return internal_err!("the other sides of a SemiJoinExec are IdsExec");
            };
            // The clone shares the set of ids, so the plan that finds them runs only once.
            *known = Arc::new(ids.clone());
        }
        Ok(Arc::new(SemiJoinExec::new(left, on)))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    /// Passes filters from above, such as the bound of a sort, only to the left side.
    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        let left = ChildFilterDescription::from_child(&filters, &self.left)?;
        let none = |all: FilterDescription, _| all.with_child(ChildFilterDescription::all_unsupported(&filters));
        Ok(self.ids.iter().fold(FilterDescription::new().with_child(left), none))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if self.on.is_known() {
            return self.left.execute(partition, context);
        }
        let (left, on) = (self.left.clone(), self.on.clone());
        let rows = async move {
            on.settle(&context).await?;
            left.execute(partition, context)
        };
        let rows = stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
