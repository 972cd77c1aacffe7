//! The inputs of decisions besides the records.

use super::codes::Codes;
use super::plans::Plans;
use super::record::{Day, Source};

/// The inputs of decisions besides the records.
pub struct Settings<'s> {
    /// The sources of the consent, by [`SourceId`](super::SourceId).
    pub sources: &'s [Source],
    /// The terminology.
    pub codes: &'s dyn Codes,
    /// The table of Medicare Advantage plans.
    pub plans: &'s dyn Plans,
    /// The day on which the records are normalized.
    pub today: Day,
    /// The id of a generated resource, from its source, its resource type, and a seed of the rule and the source's ids.
    pub ids: &'s dyn Fn(&Source, &str, &str) -> String,
}
