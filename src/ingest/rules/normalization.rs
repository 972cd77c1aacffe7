//! What the rules need besides the records.

use std::collections::BTreeMap;

use super::observer::Observer;
use crate::normalize::{Day, Knowledge};

/// What the rules need besides the records.
#[derive(Clone)]
pub struct Normalization {
    /// The terminology and the table of health plans.
    pub knowledge: Knowledge,
    /// The day of the run. For example, rules compare the end of a prescription's supply with it.
    pub today: Day,
    /// The prefix of our tags' systems, without a trailing slash.
    pub tag_system_base: String,
    /// The missing targets of references in the same source's previous sync, from its
    /// [`Report`](crate::normalize::Report). The key is a hash of the reference. The value is the number of syncs in a
    /// row in which the target was missing.
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
