//! Runs a lookup as the operator of a plan, for a search that is explained.

use std::sync::Arc;

use datafusion::common::DataFusionError;
use datafusion::physical_plan::{ExecutionPlan, collect};

use super::super::SearchError;
use super::super::engine::Engine;
use super::explain::trace::Trace;
use crate::plan::{Lookup, LookupExec};

impl Engine {
    /// Runs a lookup as a plan with one operator, and adds this plan to the trace. After the run, `take` gets the
    /// answer from the lookup. If there is no answer, returns the error of the run.
    pub(in crate::search) async fn look_up<L: Lookup, A>(
        &self,
        lookup: Arc<L>,
        take: impl FnOnce(&L) -> Option<A>,
        trace: &Trace,
    ) -> Result<A, SearchError> {
        let plan: Arc<dyn ExecutionPlan> = Arc::new(LookupExec::new(lookup.clone()));
        let ran = collect(plan.clone(), self.sessions().parallel().context()).await;
        match (take(&lookup), ran) {
            (Some(answer), _) => {
                trace.plan(&plan);
                Ok(answer)
            }
            (None, ran) => {
                trace.shown(plan.as_ref());
                Err(ran.err().map_or(SearchError::Unanswered, of_search))
            }
        }
    }
}

/// Converts the error of a plan. DataFusion wraps a `SearchError` of the lookup, so this function unwraps it. Any other
/// error becomes a `SearchError`.
fn of_search(error: DataFusionError) -> SearchError {
    match error {
        DataFusionError::External(inner) => match inner.downcast::<SearchError>() {
            Ok(met) => *met,
            Err(inner) => DataFusionError::External(inner).into(),
        },
        error => error.into(),
    }
}
