//! The questions of rules to a table of health plans.

use crate::plans::PlanTables;

pub use crate::plans::{Area, Contact, Plan as PlanFacts, Premium};

/// A table of Medicare Advantage plans, as far as rules need it.
pub trait Plans: Sync {
    /// A plan by CMS's contract, plan and segment and the calendar year. Unknown parts are left out.
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

impl Plans for PlanTables {
    /// Plans change from year to year, so nothing is said of a Coverage that tells no year.
    fn plan(&self, contract: &str, plan: Option<&str>, segment: Option<&str>, year: Option<i32>) -> Option<PlanFacts> {
        self.find(contract, plan, segment, year?)
    }
}
