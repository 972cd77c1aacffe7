//! The plans of a search, for callers that run them elsewhere.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::parameters::contained::Which;
use super::explanation::Form;
use super::population;
use super::single_type::{Opened, Request};
use super::system::SystemRequest;
use super::trace::Trace;

impl Engine {
    /// The plan of a search's page, and the plan that counts all matches. The first yields the locators of the page's
    /// matches and of the next one. Empty for searches over one person's columns, and over contained resources.
    ///
    /// Conditions on other resources are answered in this call, unless the plans answer them.
    pub async fn plans(&self, request: &Request<'_>) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let Opened { mut query, table, .. } = self.open(request)?;
        if query.contained.which != Which::Outer {
            return Ok(Vec::new());
        }
        query.joins = self.join(&table, &mut query.criteria, &Trace::default()).await?;
        let bound = self.bound(&query, &table);
        if bound.person.is_some() {
            return Ok(Vec::new());
        }
        let page = population::page_plan(self.sessions(), &table, &query, bound.owners.clone()).await?;
        let count = population::count_plan(self.sessions(), &table, &query, bound.owners).await?;
        Ok(vec![page, count])
    }

    /// Runs a search, and returns the plans that ran: of the page, of a count, of containers, of canonicals and of
    /// includes. Their operators keep the state of this run.
    pub async fn ran_plans(&self, request: &Request<'_>) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let trace = Trace::on(Form::Text);
        self.search_traced(request, trace.clone()).await?;
        Ok(trace.ran())
    }

    /// The same for a search of several types.
    pub async fn system_ran_plans(
        &self,
        request: &SystemRequest<'_>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let trace = Trace::on(Form::Text);
        self.search_system_traced(request, trace.clone()).await?;
        Ok(trace.ran())
    }
}
