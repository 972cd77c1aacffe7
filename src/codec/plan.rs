//! The codec for physical plans.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result as PlanResult;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::context::SessionConfig;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::execution::{FunctionRegistry, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use datafusion_proto::protobuf::PhysicalPlanNode;
use prost::Message;

use super::envelope;
use super::error::CodecError;
use super::travel::{Known, Travel};
use crate::lake::Lake;
use crate::plan::{PushDownTopK, SemiJoinExec, runtime};
use crate::search::Engine;
use crate::sql::bounded_functions;
use crate::terminology::Terminology;

/// Encodes plans over a lake as bytes, and decodes them. Clones share the lake and the engine.
#[derive(Clone)]
pub struct PlanCodec(Arc<Known>);

impl PlanCodec {
    /// Creates a codec for plans over a lake. `engine` must be over the same lake. The process that decodes a plan
    /// needs the same search parameters and terminology as the one that encodes it.
    pub fn new(lake: Lake, engine: Arc<Engine>, terminology: Option<Arc<Terminology>>) -> PlanCodec {
        let mut state = SessionStateBuilder::new_with_default_features()
            .with_config(SessionConfig::new())
            .with_runtime_env(runtime())
            .build();
        // The plans of SQL name these functions. Registering a function fails only if the state has no functions.
        let known: Vec<_> = state.scalar_functions().values().cloned().collect();
        for function in bounded_functions(known, &state.runtime_env().memory_pool) {
            let _ = state.register_udf(function);
        }
        PlanCodec(Arc::new(Known {
            lake,
            engine,
            terminology,
            context: state.task_ctx(),
            state,
        }))
    }

    /// Encodes a plan as bytes and signs them with the lake's key. The plan may have run before, because its state is
    /// not encoded.
    pub fn encode(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>, CodecError> {
        let plan = reset_plan_states(without_settled(plan.clone())?)?;
        let travel = Travel::new(&self.0);
        let bytes = physical_plan_to_bytes_with_extension_codec(plan, &travel);
        let bytes = bytes.map_err(|error| travel.failed().unwrap_or(error.into()))?;
        // The decoder refuses bytes that are nested too deeply. So decode the bytes once here, to return this error
        // now.
        PhysicalPlanNode::decode(bytes.as_ref()).map_err(|_| CodecError::Deep)?;
        Ok(envelope::seal(&self.0.lake, &bytes))
    }

    /// Decodes a plan from bytes that this lake has signed.
    pub fn decode(&self, bytes: &[u8]) -> Result<Arc<dyn ExecutionPlan>, CodecError> {
        let bytes = envelope::open(&self.0.lake, bytes)?;
        let travel = Travel::new(&self.0);
        let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &self.0.context, &travel);
        let plan = plan.map_err(|error| travel.failed().unwrap_or(error.into()))?;
        if !travel.is_told() {
            return Ok(plan);
        }
        // A scan of the encoded plan knew the sort above it, but the bytes do not contain this knowledge. So run the
        // two optimizer rules again. They tell the scan the first key, the limit and the dynamic filter of the sort.
        let options = self.0.state.config_options();
        let plan = PushDownTopK.optimize(plan, options)?;
        Ok(FilterPushdown::new_post_optimization().optimize(plan, options)?)
    }

    /// Returns the task context in which decoded plans can run.
    pub fn context(&self) -> Arc<TaskContext> {
        self.0.context.clone()
    }
}

impl fmt::Debug for PlanCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanCodec").finish_non_exhaustive()
    }
}

/// Removes each semi-join whose ids were known when its left side was planned, and keeps the left side. The filters of
/// the left side already contain the ids.
fn without_settled(plan: Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let without = plan.transform_down(|plan| {
        let mut rows = plan;
        let mut found = false;
        while let Some(left) = rows.downcast_ref::<SemiJoinExec>().and_then(SemiJoinExec::settled) {
            rows = left.clone();
            found = true;
        }
        Ok(if found {
            Transformed::yes(rows)
        } else {
            Transformed::no(rows)
        })
    })?;
    Ok(without.data)
}
