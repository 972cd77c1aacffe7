//! What the pages of a search themselves show to be missing.

use std::collections::BTreeMap;

use crate::sync::client::is_passing;

/// Why a record of a page, or of the whole search, is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sync::jobs) enum Loss {
    /// The entry is no resource with a type and an id that can be read.
    Unreadable,
    /// The entry has no resource.
    Empty,
    /// The source answered for this entry with an HTTP status of 400 or more.
    Status(u16),
    /// The source reported an error beside the records. Contains the code of the issue.
    Reported(String),
    /// A Bundle inside the page has further pages, which are not requested.
    InnerPages,
    /// The source counts more matches (`Bundle.total`) than it returned.
    Short,
}

impl Loss {
    /// Whether the same search may bring the record later.
    pub(in crate::sync::jobs) fn may_pass(&self) -> bool {
        match self {
            Loss::Reported(_) => true,
            Loss::Status(status) => is_passing(*status),
            Loss::Unreadable | Loss::Empty | Loss::InnerPages | Loss::Short => false,
        }
    }
}

/// The losses of a search, with the number of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::sync::jobs) struct Losses(BTreeMap<Loss, u64>);

impl Losses {
    pub(in crate::sync::jobs) fn note(&mut self, loss: Loss, count: u64) {
        *self.0.entry(loss).or_default() += count;
    }

    pub(in crate::sync::jobs) fn add(&mut self, others: Losses) {
        others.0.into_iter().for_each(|(loss, count)| self.note(loss, count));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::sync::jobs) fn into_iter(self) -> impl Iterator<Item = (Loss, u64)> {
        self.0.into_iter()
    }
}
