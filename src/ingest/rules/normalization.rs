//! What the rules need besides the records.

use std::collections::BTreeMap;

use super::observer::Observer;
use crate::normalize::{Day, Knowledge};

/// What the rules need besides the records.
#[derive(Clone)]
pub struct Normalization {
    /// The terminology and the table of health plans.
    pub knowledge: Knowledge,
    /// The day of the run.
    pub today: Day,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tag_system_base: String,
    /// The missing targets of the same source's previous sync, from its [`Report`](crate::normalize::Report).
    pub dangling: BTreeMap<u64, u32>,
    /// Called for each resource that is generated, changed or deleted.
    pub observer: Option<Observer>,
}

impl std::fmt::Debug for Normalization {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Normalization")
            .field("today", &self.today)
            .finish_non_exhaustive()
    }
}
