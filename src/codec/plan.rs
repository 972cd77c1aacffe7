//! Writes plans as bytes and reads them back.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result as PlanResult;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionConfig;
use datafusion::execution::session_state::SessionStateBuilder;
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
use crate::terminology::Terminology;

/// Writes plans over a lake as bytes, and reads them. Clones share it.
#[derive(Clone)]
pub struct PlanCodec(Arc<Known>);

impl PlanCodec {
    /// A codec for plans over a lake. The reader of a plan needs the same search parameters and terminology. The engine
    /// must be over the same lake.
    pub fn new(lake: Lake, engine: Arc<Engine>, terminology: Option<Arc<Terminology>>) -> PlanCodec {
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(SessionConfig::new())
            .with_runtime_env(runtime())
            .build();
        PlanCodec(Arc::new(Known {
            lake,
            engine,
            terminology,
            context: state.task_ctx(),
            state,
        }))
    }

    /// A plan as bytes that this lake has signed. The plan may have run before.
    pub fn encode(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Vec<u8>, CodecError> {
        let plan = reset_plan_states(without_settled(plan.clone())?)?;
        let travel = Travel::new(&self.0);
        let bytes = physical_plan_to_bytes_with_extension_codec(plan, &travel);
        let bytes = bytes.map_err(|error| travel.failed().unwrap_or(error.into()))?;
        // The reader would refuse deeper nesting, so check it here.
        PhysicalPlanNode::decode(bytes.as_ref()).map_err(|_| CodecError::Deep)?;
        Ok(envelope::seal(&self.0.lake, &bytes))
    }

    /// Reads a plan from these bytes, if this lake has signed them.
    pub fn decode(&self, bytes: &[u8]) -> Result<Arc<dyn ExecutionPlan>, CodecError> {
        let bytes = envelope::open(&self.0.lake, bytes)?;
        let travel = Travel::new(&self.0);
        let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &self.0.context, &travel);
        let plan = plan.map_err(|error| travel.failed().unwrap_or(error.into()))?;
        if !travel.is_told() {
            return Ok(plan);
        }
        // Restore what the sort tells the scan: how many rows it keeps, and later its bound. The bytes do not have
        // this.
        let options = self.0.state.config_options();
        let plan = PushDownTopK.optimize(plan, options)?;
        Ok(FilterPushdown::new_post_optimization().optimize(plan, options)?)
    }

    /// The task context of plans.
    pub fn context(&self) -> Arc<TaskContext> {
        self.0.context.clone()
    }
}

impl fmt::Debug for PlanCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanCodec").finish_non_exhaustive()
    }
}

/// The plan without semi-joins that need no more ids. The filters of their left sides already have the conditions.
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
