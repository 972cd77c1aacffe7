//! What an erasure means, as the catalog records it.

use std::sync::Arc;

use crate::lake::scope::Scope;

/// The rows that a patient's scope has as its own, in the files that were there when it was recorded: what comes later, be it
/// the same person again, is not meant.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lake) struct Erasure {
    /// The count of changes to the catalog's erasures that recorded it; no two have the same.
    pub(in crate::lake) id: u64,
    /// Whose own rows go.
    pub(in crate::lake) scope: Arc<Scope>,
    /// The first data file that is not meant.
    pub(in crate::lake) first_file: u64,
}

impl Erasure {
    /// Under whom the rows lie.
    pub(in crate::lake) fn owners(&self) -> &[i64] {
        self.scope.patient.as_ref().map_or(&[], |patient| &patient.owners)
    }

    /// Whether a data file may hold rows that are meant.
    pub(in crate::lake) fn may_reach(&self, file: u64, owners: &std::ops::RangeInclusive<i64>) -> bool {
        file < self.first_file && self.owners().iter().any(|owner| owners.contains(owner))
    }
}

/// The erasures of a catalog at one moment.
#[derive(Clone, Debug, Default)]
pub(in crate::lake) struct Erasures {
    /// How many times an erasure was recorded or finished.
    pub(in crate::lake) epoch: u64,
    /// Recorded and not finished.
    pub(in crate::lake) pending: Vec<Arc<Erasure>>,
}
