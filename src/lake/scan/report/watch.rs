//! Records what an answer read, for callers that request it: scans with their reports, columns of people, rows fetched
//! one by one, and how much came from memory. Other callers pay nothing for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::account::Account;
use super::counts::ScanReport;
use crate::fhir::TypeId;

/// Records the reads of the tables that it watches.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// Scans with their accounts, which grow until their streams have ended.
    scans: Vec<(SeenScan, Arc<Account>)>,
    seen: Seen,
}

/// The reads since the last call.
#[derive(Debug, Default)]
pub struct Seen {
    /// Scans, in the order of planning.
    pub scans: Vec<SeenScan>,
    /// People's columns, in the order of the requests.
    pub people: Vec<SeenPerson>,
    /// Rows fetched one by one.
    pub fetched: BTreeMap<TypeId, SeenRows>,
    /// Cache hits and misses, by kind of cache.
    pub kept: BTreeMap<&'static str, Kept>,
}

/// One scan.
#[derive(Debug)]
pub struct SeenScan {
    /// The table's type.
    pub type_id: TypeId,
    /// The leaves that it returns.
    pub leaves: Vec<String>,
    /// The conditions for statistics, if any.
    pub prune: Option<String>,
    /// The number of owners to which the scan is restricted. `None` without such a restriction.
    pub owners: Option<usize>,
    /// How many of the table's files may hold matching rows, by the owners in the catalog and by the start or end of a
    /// page.
    pub files_met: usize,
    /// The scan's report.
    pub report: ScanReport,
}

/// The columns of one person, or of all people of a patient token.
#[derive(Debug)]
pub struct SeenPerson {
    /// The table's type.
    pub type_id: TypeId,
    /// The number of the person's rows.
    pub rows: usize,
    /// Columns from memory.
    pub columns_kept: usize,
    /// Columns read from files.
    pub columns_read: usize,
    /// Bytes read from data files.
    pub bytes: u64,
    /// The time taken.
    pub time: Duration,
}

/// Rows fetched one by one, by id or by locator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenRows {
    /// The number of requested rows.
    pub asked: usize,
    /// Rows found.
    pub found: usize,
    /// Bytes of their resources.
    pub bytes: u64,
    /// The time taken.
    pub time: Duration,
}

/// Hits and misses of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How often the value was in memory.
    pub hits: usize,
    /// How often it was read or built.
    pub misses: usize,
}

impl Watch {
    /// The reads since the last call. Reports are complete when their streams have ended.
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

    /// Records a scan of a table with `report.files` files. The account has the rest of its report.
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
