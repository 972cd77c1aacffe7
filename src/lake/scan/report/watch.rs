//! Records what an answer reads, if its caller wants to know: scans with their reports, columns of people, rows fetched
//! by id or locator, and how much came from the caches. Reads without a watch record nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::account::Account;
use super::counts::ScanReport;
use crate::fhir::TypeId;

/// Records the reads of all tables to which it is attached.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// The scans, each with its account. An account grows until the scan's streams have ended.
    scans: Vec<(SeenScan, Arc<Account>)>,
    seen: Seen,
}

/// The reads that a watch has recorded since the last call of [`Watch::take`].
#[derive(Debug, Default)]
pub struct Seen {
    /// The scans, in the order of planning. A scan with late predicates is recorded when it begins.
    pub scans: Vec<SeenScan>,
    /// Reads of people's columns, in the order of the requests.
    pub people: Vec<SeenPerson>,
    /// Rows fetched by id or by locator, by type.
    pub fetched: BTreeMap<TypeId, SeenRows>,
    /// Cache hits and misses, by kind of cache.
    pub kept: BTreeMap<&'static str, Kept>,
}

/// One scan.
#[derive(Debug)]
pub struct SeenScan {
    /// The table's type.
    pub type_id: TypeId,
    /// The leaves that the scan returns.
    pub leaves: Vec<String>,
    /// The condition that is checked on statistics. `None` if there is none.
    pub prune: Option<String>,
    /// The number of owners to which the scan is restricted. `None` without such a restriction.
    pub owners: Option<usize>,
    /// How many of the table's files may hold rows of the scan, judging by the owners in the catalog and by the scan's
    /// span.
    pub files_met: usize,
    /// The scan's report.
    pub report: ScanReport,
}

/// One read of the columns of a person, or of all rows that a patient scope shows.
#[derive(Debug)]
pub struct SeenPerson {
    /// The table's type.
    pub type_id: TypeId,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns that came from the cache.
    pub columns_kept: usize,
    /// The number of columns that were read from files.
    pub columns_read: usize,
    /// The number of bytes read from data files.
    pub bytes: u64,
    /// The time taken.
    pub time: Duration,
}

/// Rows that were fetched by id or by locator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenRows {
    /// The number of requested rows.
    pub asked: usize,
    /// The number of rows that were found.
    pub found: usize,
    /// The size of the found resources in bytes.
    pub bytes: u64,
    /// The time taken.
    pub time: Duration,
}

/// Hits and misses of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How often the value was in the cache.
    pub hits: usize,
    /// How often the value was not in the cache, so that it was read or built.
    pub misses: usize,
}

impl Watch {
    /// Returns the reads since the last call. The report of a scan is complete if all of its streams have ended.
    pub fn take(&self) -> Seen {
        let noted = std::mem::take(&mut *self.noted());
        let mut seen = noted.seen;
        let described = noted.scans.into_iter().map(|(scan, account)| SeenScan {
            report: account.report(scan.report.files),
            ..scan
        });
        seen.scans = described.collect();
        seen
    }

    /// Records a scan. `scan.report` has only the number of files; the account has the other counts.
    pub(in crate::lake::scan) fn scan(&self, scan: SeenScan, account: &Arc<Account>) {
        self.noted().scans.push((scan, account.clone()));
    }

    pub(in crate::lake::scan) fn person(&self, person: SeenPerson) {
        self.noted().seen.people.push(person);
    }

    pub(in crate::lake::scan) fn rows(&self, type_id: TypeId, rows: SeenRows) {
        let mut noted = self.noted();
        let sum = noted.seen.fetched.entry(type_id).or_default();
        sum.asked += rows.asked;
        sum.found += rows.found;
        sum.bytes += rows.bytes;
        sum.time += rows.time;
    }

    pub(in crate::lake::scan) fn kept(&self, what: &'static str, was_there: bool) {
        let mut noted = self.noted();
        let kept = noted.seen.kept.entry(what).or_default();
        if was_there { kept.hits += 1 } else { kept.misses += 1 }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
