//! What an erasure means, as the catalog records it.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lake::owners::scope::{Mode, PatientScope, Scope};

/// Whose rows to erase: the rows that this scope of an application has as its own.
///
/// If it has authorizations, `patients` should be empty: rows of the same owners that no sync brought would be erased
/// too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Live or test tables.
    pub mode: Mode,
    /// The application whose rows they are.
    pub application: String,
    /// The person.
    pub patient: PatientScope,
}

impl Intent {
    /// The scope that has these rows as its own.
    pub(super) fn scope(&self) -> Scope {
        Scope {
            mode: self.mode,
            application: self.application.as_str().into(),
            patient: Some(Arc::new(self.patient.clone())),
        }
    }
}

/// The rows that a patient's scope has as its own, in the files that existed when the erasure was recorded. Later rows
/// are not meant, even those of the same person.
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
    /// One that no catalog has recorded: it means every file.
    pub(super) fn unrecorded(intent: &Intent) -> Erasure {
        // Caches of scopes use the numbers of erasures. Those of the catalog start at one.
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        Erasure {
            id: NEXT.fetch_sub(1, Ordering::Relaxed),
            scope: Arc::new(intent.scope()),
            first_file: u64::MAX,
        }
    }

    /// Under whom the rows are.
    pub(in crate::lake) fn owners(&self) -> &[i64] {
        self.scope.patient.as_ref().map_or(&[], |patient| &patient.owners)
    }

    /// What was asked for.
    pub(in crate::lake) fn intent(&self) -> Option<Intent> {
        Some(Intent {
            mode: self.scope.mode,
            application: self.scope.application.to_string(),
            patient: PatientScope::clone(self.scope.patient.as_deref()?),
        })
    }

    /// Whether a data file may hold rows that are meant.
    pub(in crate::lake) fn may_reach(&self, file: u64, owners: &RangeInclusive<i64>) -> bool {
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

impl Erasures {
    /// Whether a data file of a mode may hold rows that are being erased.
    pub(in crate::lake) fn may_reach(&self, mode: Mode, file: u64, owners: &RangeInclusive<i64>) -> bool {
        let reaches = |erasure: &Arc<Erasure>| erasure.scope.mode == mode && erasure.may_reach(file, owners);
        self.pending.iter().any(reaches)
    }
}
