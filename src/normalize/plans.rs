//! The health plans that rules look up.

use crate::plans::PlanTables;

pub use crate::plans::{Area, Contact, Plan as PlanFacts, Premium};

/// The parts of a table of Medicare Advantage plans that rules need.
pub trait Plans: Sync {
    /// Returns the facts of a plan by CMS's contract, plan and segment, and by the calendar year. An unknown plan,
    /// segment or year is `None`.
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
    /// Returns `None` without a year, because plans change from year to year.
    fn plan(&self, contract: &str, plan: Option<&str>, segment: Option<&str>, year: Option<i32>) -> Option<PlanFacts> {
        self.find(contract, plan, segment, year?)
    }
}
