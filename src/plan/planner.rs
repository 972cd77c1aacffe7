//! Turns logical plans over tables into physical ones, with only those rules of DataFusion that these plans need.
//!
//! The engine itself builds these plans. A plan reads a table, and may have filters, a sort, a limit, an aggregate and
//! the engine's own operators. It has no subqueries, no window functions and no constants to fold. DataFusion's rules
//! for these are left out, because each rule costs time in every request.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::context::{QueryPlanner, SessionConfig, SessionState};
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::OptimizerRule;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::combine_partial_final_agg::CombinePartialFinalAggregate;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::output_requirements::OutputRequirements;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use super::memory::runtime;
use super::ordered_limit::Ordered;
use super::top_k::PushDownTopK;

/// A planner for logical nodes that DataFusion cannot plan itself.
pub type Operator = Arc<dyn ExtensionPlanner + Send + Sync>;

/// Plans queries over tables. Several threads may use a planner at once. Clones of a planner share one session.
#[derive(Clone)]
pub struct Planner {
    state: Arc<SessionState>,
    context: Arc<TaskContext>,
}

/// A query with its logical and its physical plan, ready to run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The optimized logical plan, in which the filters are in the scans.
    pub logical: LogicalPlan,
    /// The physical plan.
    pub physical: Arc<dyn ExecutionPlan>,
}

impl Planner {
    /// Creates a planner. Its scans have at most `partitions` partitions. With `None`, they have at most as many as
    /// there are processors. The planner knows `OrderedLimit` and the given operators.
    pub fn new(partitions: Option<usize>, mut operators: Vec<Operator>) -> Planner {
        let mut config = SessionConfig::new();
        if let Some(partitions) = partitions {
            config = config.with_target_partitions(partitions);
        }
        // In these plans a filter is directly above its scan, and a projection is at the top. So one pass of the rules
        // is enough to move the filter and the projection into the scan.
        let options = config.options_mut();
        options.optimizer.max_passes = 1;
        // A scan chooses its number of partitions by its number of rows. Repartitioning its batches would cost more
        // than it gains.
        options.optimizer.enable_round_robin_repartition = false;
        let logical: Vec<Arc<dyn OptimizerRule + Send + Sync>> =
            vec![Arc::new(PushDownFilter::new()), Arc::new(OptimizeProjections::new())];
        let physical: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> = vec![
            Arc::new(OutputRequirements::new_add_mode()),
            Arc::new(EnsureRequirements::new()),
            Arc::new(CombinePartialFinalAggregate::new()),
            Arc::new(OutputRequirements::new_remove_mode()),
            Arc::new(PushDownTopK),
            // Passes the current bound of a sort with a limit down to the scan.
            Arc::new(FilterPushdown::new_post_optimization()),
        ];
        operators.push(Arc::new(Ordered));
        let planner = DefaultPhysicalPlanner::with_extension_planners(operators);
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(runtime())
            .with_query_planner(Arc::new(WithOperators(planner)))
            .with_analyzer_rules(Vec::new())
            .with_optimizer_rules(logical)
            .with_physical_optimizer_rules(physical)
            .build();
        Planner {
            context: state.task_ctx(),
            state: Arc::new(state),
        }
    }

    /// Optimizes a logical plan and creates its physical plan.
    pub async fn plan(&self, plan: &LogicalPlan) -> Result<Planned> {
        let logical = self.state.optimize(plan)?;
        let planner = self.state.query_planner();
        let physical = planner.create_physical_plan(&logical, self.state.as_ref()).await?;
        Ok(Planned { logical, physical })
    }

    /// Returns the session, for callers that call `TableProvider::scan` themselves.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// Returns the context in which plans run.
    pub fn context(&self) -> Arc<TaskContext> {
        self.context.clone()
    }
}

/// DataFusion's physical planner, extended with the planners of other operators.
struct WithOperators(DefaultPhysicalPlanner);

#[async_trait]
impl QueryPlanner for WithOperators {
    async fn create_physical_plan(&self, plan: &LogicalPlan, state: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.create_physical_plan(plan, state).await
    }
}

impl std::fmt::Debug for WithOperators {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WithOperators")
    }
}

impl std::fmt::Debug for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let partitions = self.state.config().target_partitions();
        f.debug_struct("Planner")
            .field("partitions", &partitions)
            .finish_non_exhaustive()
    }
}
