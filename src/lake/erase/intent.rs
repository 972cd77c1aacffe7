//! The rows that an erasure covers, as the catalog records them.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lake::owners::scope::{Mode, PatientScope, Scope};

/// The rows to erase: rows of an application that belong to this person, not shared rows that the person also sees.
///
/// If it has authorizations, `patients` should be empty. Otherwise rows of the same owners that no sync stored would be
/// erased too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Live or test tables.
    pub mode: Mode,
    /// The application of the rows.
    pub application: String,
    /// The person.
    pub patient: PatientScope,
}

impl Intent {
    /// The scope to which these rows belong.
    pub(super) fn scope(&self) -> Scope {
        Scope {
            mode: self.mode,
            application: self.application.as_str().into(),
            patient: Some(Arc::new(self.patient.clone())),
        }
    }
}

/// The rows to erase: rows of a patient's own scope, in files that existed when the erasure was recorded. Later rows
/// are not erased, even those of the same person.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lake) struct Erasure {
    /// The value that the catalog's count of changes had when the erasure was recorded. No two erasures have the same.
    pub(in crate::lake) id: u64,
    /// The scope whose own rows are erased.
    pub(in crate::lake) scope: Arc<Scope>,
    /// The number of the first data file that the erasure does not cover.
    pub(in crate::lake) first_file: u64,
}

impl Erasure {
    /// An erasure that no catalog has recorded. It covers every file.
    pub(super) fn unrecorded(intent: &Intent) -> Erasure {
        // Caches of scopes use the numbers of erasures. The catalog's numbers start at one, so these count down from
        // the maximum.
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        Erasure {
            id: NEXT.fetch_sub(1, Ordering::Relaxed),
            scope: Arc::new(intent.scope()),
            first_file: u64::MAX,
        }
    }

    /// The owners of the rows.
    pub(in crate::lake) fn owners(&self) -> &[i64] {
        self.scope.patient.as_ref().map_or(&[], |patient| &patient.owners)
    }

    /// The requested intent.
    pub(in crate::lake) fn intent(&self) -> Option<Intent> {
        Some(Intent {
            mode: self.scope.mode,
            application: self.scope.application.to_string(),
            patient: PatientScope::clone(self.scope.patient.as_deref()?),
        })
    }

    /// Whether a data file may hold rows of the erasure.
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
