//! The rows that an erasure covers, as the catalog records them.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::lake::owners::scope::{Mode, PatientScope, Scope};

/// The rows to erase: the rows of an application that belong to one person. Shared rows that the person also sees stay.
///
/// If the person has authorizations, `patients` should be empty. Otherwise the person's imported rows with the same
/// owners would be erased too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Live or test tables.
    pub mode: Mode,
    /// The application to which the rows belong.
    pub application: String,
    /// The person, by owners, Patients and authorizations.
    pub patient: PatientScope,
}

impl Intent {
    /// Returns the scope whose own rows are to be erased.
    pub(super) fn scope(&self) -> Scope {
        Scope {
            mode: self.mode,
            application: self.application.as_str().into(),
            patient: Some(Arc::new(self.patient.clone())),
        }
    }
}

/// A requested erasure. It covers the patient's own rows of a scope, not the shared rows that the patient sees. It
/// covers only files that existed when the erasure was recorded. Later rows are not erased, even those of the same
/// person.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::lake) struct Erasure {
    /// A number that no other erasure of the lake has. It is the lake's epoch when the erasure was recorded.
    pub(in crate::lake) id: u64,
    /// The scope whose own rows are erased.
    pub(in crate::lake) scope: Arc<Scope>,
    /// The number of the first data file that the erasure does not cover.
    pub(in crate::lake) first_file: u64,
}

impl Erasure {
    /// Makes an erasure that no catalog has recorded. It covers the rows of every data file.
    pub(super) fn unrecorded(intent: &Intent) -> Erasure {
        // Caches compare the ids of erasures, so this id must differ from all ids in the catalog. These start at one,
        // so this number counts down from the maximum.
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        Erasure {
            id: NEXT.fetch_sub(1, Ordering::Relaxed),
            scope: Arc::new(intent.scope()),
            first_file: u64::MAX,
        }
    }

    /// Returns the owners of the rows that the erasure covers.
    pub(in crate::lake) fn owners(&self) -> &[i64] {
        self.scope.patient.as_ref().map_or(&[], |patient| &patient.owners)
    }

    /// Returns the intent of the erasure. `None` if the scope names no patient.
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

/// The unfinished erasures of a catalog at one moment, and its epoch.
#[derive(Clone, Debug, Default)]
pub(in crate::lake) struct Erasures {
    /// The epoch. It rises when an erasure is recorded, when files are exchanged in existing snapshots, and when the
    /// lake is sealed or unsealed.
    pub(in crate::lake) epoch: u64,
    /// The erasures that are recorded and not finished.
    pub(in crate::lake) pending: Vec<Arc<Erasure>>,
}

impl Erasures {
    /// Whether a data file of a mode may hold rows that are being erased.
    pub(in crate::lake) fn may_reach(&self, mode: Mode, file: u64, owners: &RangeInclusive<i64>) -> bool {
        let reaches = |erasure: &Arc<Erasure>| erasure.scope.mode == mode && erasure.may_reach(file, owners);
        self.pending.iter().any(reaches)
    }
}
