//! The plans of a search, for callers that run them in another process.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::parameters::contained::Which;
use super::explain::explanation::Form;
use super::explain::trace::Trace;
use super::person_operator::{OnPerson, PersonOutput};
use super::population;
use super::single_type::{Opened, Request};
use super::system::SystemRequest;
use crate::plan::LookupExec;

impl Engine {
    /// Returns two plans for a search. The first one yields the locators of the page's matches. If the search is not of
    /// one person, a page that is read forwards also has the locator of the next match. The second one counts all
    /// matches. Returns no plans for a search of contained resources.
    ///
    /// Conditions on other resources are answered in this call, unless the plans themselves answer them.
    pub async fn plans(&self, request: &Request<'_>) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let Opened { mut query, table, .. } = self.open(request)?;
        if query.contained.which != Which::Outer {
            return Ok(Vec::new());
        }
        query.joins = self.join(&table, &mut query.criteria, &Trace::default()).await?;
        let bound = self.bound(&query, &table);
        if let Some(person) = bound.person {
            let plan = |output| -> Arc<dyn ExecutionPlan> {
                Arc::new(LookupExec::new(Arc::new(OnPerson::new(&table, &query, person, output))))
            };
            return Ok(vec![plan(PersonOutput::Page), plan(PersonOutput::Count)]);
        }
        let page = population::page_plan(self.sessions(), &table, &query, bound.owners.clone()).await?;
        let count = population::count_plan(self.sessions(), &table, &query, bound.owners).await?;
        Ok(vec![page, count])
    }

    /// Runs a search, and returns the plans that ran: for the page, a count, containers, canonicals and includes. Their
    /// operators still have the metrics of this run.
    pub async fn ran_plans(&self, request: &Request<'_>) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let trace = Trace::on(Form::Text);
        self.search_traced(request, trace.clone()).await?;
        Ok(trace.ran())
    }

    /// Runs a search of several types, and returns the plans that ran.
    pub async fn system_ran_plans(
        &self,
        request: &SystemRequest<'_>,
    ) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let trace = Trace::on(Form::Text);
        self.search_system_traced(request, trace.clone()).await?;
        Ok(trace.ran())
    }
}
