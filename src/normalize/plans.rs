//! What rules ask a table of health plans.

/// What a table knows of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFacts {
    /// Its name.
    pub name: Option<String>,
    /// Who offers it.
    pub organization: Option<String>,
    /// Where it is offered.
    pub areas: Vec<String>,
    /// Its monthly premium in dollars, as a decimal.
    pub premium: Option<String>,
    /// A telephone number for members.
    pub phone: Option<String>,
    /// A web page.
    pub url: Option<String>,
}

/// A table of Medicare Advantage plans, as far as rules need it.
pub trait Plans: Sync {
    /// A plan by CMS's contract, plan and segment and the calendar year; what is not known is not given.
    fn plan(&self, contract: &str, plan: Option<&str>, segment: Option<&str>, year: Option<i32>) -> Option<PlanFacts>;
}

/// A table without plans.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPlans;

impl Plans for NoPlans {
    fn plan(&self, _: &str, _: Option<&str>, _: Option<&str>, _: Option<i32>) -> Option<PlanFacts> {
        None
    }
}
