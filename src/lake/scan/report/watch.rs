//! Records what an answer read, for callers that ask: scans with their accounts, columns of people, rows fetched one by
//! one, and how much of it was in memory. Other callers pay nothing for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::account::Account;
use super::counts::ScanReport;
use crate::fhir::TypeId;

/// Notes what is read through the tables that it watches.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// Scans with their accounts, which grow until their streams have ended.
    scans: Vec<(SeenScan, Arc<Account>)>,
    seen: Seen,
}

/// What was read since it was asked last.
#[derive(Debug, Default)]
pub struct Seen {
    /// Scans, in the order they were planned.
    pub scans: Vec<SeenScan>,
    /// People's columns, in the order they were asked for.
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
    pub ty: TypeId,
    /// The leaves that it gives.
    pub leaves: Vec<String>,
    /// The conditions for statistics. `None` if there are none.
    pub prune: Option<String>,
    /// To how many owners it is narrowed, if it is.
    pub owners: Option<usize>,
    /// How many of the table's files may hold matching rows, by the owners in the catalog and by the start or end of a
    /// page.
    pub files_met: usize,
    /// What it did.
    pub report: ScanReport,
}

/// The columns of one person, or of all that a patient token shows.
#[derive(Debug)]
pub struct SeenPerson {
    /// The table's type.
    pub ty: TypeId,
    /// How many rows are the person's.
    pub rows: usize,
    /// Columns that were in memory.
    pub columns_kept: usize,
    /// Columns that were read.
    pub columns_read: usize,
    /// Bytes read from data files.
    pub bytes: u64,
    /// How long it took.
    pub time: Duration,
}

/// Rows fetched one by one, by id or by place.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeenRows {
    /// Rows asked for.
    pub asked: usize,
    /// Rows found.
    pub found: usize,
    /// Bytes of their resources.
    pub bytes: u64,
    /// How long it took.
    pub time: Duration,
}

/// How often something was in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// It was there.
    pub hits: usize,
    /// It was read or built.
    pub misses: usize,
}

impl Watch {
    /// What was read since this was asked last. Accounts are whole once the streams that read have ended.
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

    /// Notes a scan of a table with `report.files` files. The account has the rest of its report.
    pub(in crate::lake::scan) fn scan(&self, scan: SeenScan, account: &Arc<Account>) {
        self.noted().scans.push((scan, account.clone()));
    }

    pub(in crate::lake::scan) fn person(&self, person: SeenPerson) {
        self.noted().seen.people.push(person);
    }

    pub(in crate::lake::scan) fn rows(&self, ty: TypeId, rows: SeenRows) {
        let mut noted = self.noted();
        let sum = noted.seen.fetched.entry(ty).or_default();
        sum.asked += rows.asked;
        sum.found += rows.found;
        sum.bytes += rows.bytes;
        sum.time += rows.time;
    }

    pub(in crate::lake::scan) fn kept(&self, what: &'static str, was_there: bool) {
        let mut noted = self.noted();
        let kept = noted.seen.kept.entry(what).or_default();
        match was_there {
            true => kept.hits += 1,
            false => kept.misses += 1,
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
