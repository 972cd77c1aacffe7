//! What the requests of a job share, and the result of fetching one type.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use super::gap::Gap;
use super::person::Person;
use super::search::Refusals;
use super::source::Source;
use super::spool::Spool;
use crate::consent::LastSync;
use crate::fhir::TypeId;
use crate::ingest::SourceBase;
use crate::sync::client::Statement;
use crate::sync::settings::SyncLimits;

/// The patient whose records are fetched, and what is known about the source.
#[derive(Clone, Copy)]
pub(super) struct Whose<'w> {
    /// The id of the Patient at the source.
    pub(super) patient: &'w str,
    /// The person's ids at the source as earlier jobs found them.
    pub(super) before: &'w Person,
    /// The granted scopes.
    pub(super) scope: Option<&'w str>,
    pub(super) statement: Option<&'w Statement>,
    /// What earlier syncs have stored, if this job may fetch only changes. With `None`, it fetches everything.
    pub(super) since: Option<&'w LastSync>,
}

/// What the requests of a job share.
pub(super) struct Work<'w> {
    pub(super) source: &'w Source,
    pub(super) spool: &'w Spool,
    pub(super) whose: Whose<'w>,
    pub(super) limits: SyncLimits,
    pub(super) held: Held,
    /// The source's FHIR base, with the forms that its answers have shown so far.
    pub(super) base: RwLock<SourceBase>,
    pub(super) unasked: AtomicU64,
    pub(super) granted: HashSet<TypeId>,
    pub(super) readable: HashSet<TypeId>,
    /// The granted types that the source's statement does not list.
    pub(super) unlisted: HashSet<TypeId>,
    /// `Type/id` of the fetched records, and of the records that were requested by reference.
    pub(super) met: Mutex<HashSet<String>>,
    /// `Type/id` of the targets of references that were not followed yet.
    pub(super) wanted: Mutex<BTreeSet<String>>,
    /// The person's ids at the source. Set once the Patient was read.
    pub(super) person: OnceLock<Person>,
    pub(super) refusals: Refusals,
    /// The number of searches that were refused at all page sizes. Only the holder of this lock tries sizes.
    pub(super) vain_sizes: tokio::sync::Mutex<u32>,
}

/// The result of fetching one type.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) records: u64,
    pub(super) gaps: Vec<Gap>,
}

impl Found {
    pub(super) fn add(&mut self, other: Found) {
        self.records += other.records;
        self.gaps.extend(other.gaps);
    }

    pub(super) fn gap(gap: Gap) -> Found {
        Found {
            records: 0,
            gaps: vec![gap],
        }
    }
}

/// The totals of a job's records, including records of catches that [`Work::keep`] has not added yet.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) bytes: AtomicU64,
    pub(super) records: AtomicU64,
}

impl Held {
    /// Returns the number of bytes of all records.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
