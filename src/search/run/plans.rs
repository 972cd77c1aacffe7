//! The plans of a search, for callers that run them elsewhere.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use super::super::SearchError;
use super::super::engine::Engine;
use super::super::parameters::contained::Which;
use super::population;
use super::single_type::{Opened, Request};

impl Engine {
    /// The plan of a search's page, and the plan that counts all matches. The first yields the locators of the page's
    /// matches and of the next one. `None` for searches that run without a plan: over one person's columns, and over
    /// contained resources.
    ///
    /// Conditions on other resources are answered now, unless the plans answer them.
    pub async fn plans(&self, request: &Request<'_>) -> Result<Vec<Arc<dyn ExecutionPlan>>, SearchError> {
        let Opened { mut query, table, .. } = self.open(request)?;
        if query.contained.which != Which::Outer {
            return Ok(Vec::new());
        }
        query.joins = self.join(&table, &mut query.criteria).await?;
        let bound = self.bound(&query, &table);
        if bound.person.is_some() {
            return Ok(Vec::new());
        }
        let page = population::page_plan(self.sessions(), &table, &query, bound.owners.clone()).await?;
        let count = population::count_plan(self.sessions(), &table, &query, bound.owners).await?;
        Ok(vec![page, count])
    }
}
