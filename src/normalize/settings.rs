//! What the decisions of rules depend on, besides the records.

use super::codes::Codes;
use super::plans::Plans;
use super::record::{Day, Source};

/// The inputs of the rules, besides the records.
pub struct Settings<'s> {
    /// The sources of the consent, by [`SourceId`](super::SourceId).
    pub sources: &'s [Source],
    /// The terminology.
    pub codes: &'s dyn Codes,
    /// The table of Medicare Advantage plans.
    pub plans: &'s dyn Plans,
    /// The day on which the records are normalized.
    pub today: Day,
    /// Returns the id of a generated resource from its source, its type and a seed. The seed is a text of the rule: a
    /// name, and facts of the source's records that identify the resource.
    pub ids: &'s dyn Fn(&Source, &str, &str) -> String,
}
