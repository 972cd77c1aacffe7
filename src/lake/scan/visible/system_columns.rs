//! The system columns of a row group, as runs of equal values. Some of them decide who sees a row. The others are the
//! row's version and the time of its last update. Rows are sorted by owner, so the rows of a person form few runs. Rows
//! of the same commit often have equal versions and times.
//!
//! This file applies a scope to rows. `shared_rows` decides which *shared* rows are visible.

use super::super::conditions::owner_set::OwnerSet;
use super::super::conditions::ranges::Ranges;
use crate::lake::owners::owner::SHARED;
use crate::lake::owners::scope::{PatientScope, Scope};

/// The index that stands for null. [`Names`] has no text at this index.
pub(in crate::lake::scan) const NONE: u32 = u32::MAX;

/// The distinct texts of a column. A text is referred to by its index.
#[derive(Default)]
pub(in crate::lake::scan) struct Names(pub(super) Vec<Box<str>>);

impl Names {
    pub(in crate::lake::scan) fn find(&self, text: &str) -> Option<u32> {
        self.0.iter().position(|have| &**have == text).map(|at| at as u32)
    }

    pub(in crate::lake::scan) fn get(&self, id: u32) -> Option<&str> {
        self.0.get(id as usize).map(|text| &**text)
    }

    /// Returns the size in bytes.
    pub(in crate::lake::scan) fn weight(&self) -> usize {
        self.0.iter().map(|text| text.len() + 24).sum()
    }
}

/// The system columns of one row group.
pub(in crate::lake::scan) struct SystemColumns {
    pub(super) rows: u32,
    pub(super) runs: Vec<Run>,
    /// Whether owners ascend, as they do in every file that this program writes.
    pub(super) sorted: bool,
    pub(super) applications: Names,
    pub(super) authorizations: Names,
    pub(super) patients: Names,
    pub(super) versions: Runs,
    pub(super) updated: Runs,
}

/// A run of rows that have the same owner, application, authorization and patient. It ends where the next run starts.
/// Each text is stored as its index in [`Names`].
pub(super) struct Run {
    pub(super) start: u32,
    pub(super) owner: i64,
    pub(super) application: u32,
    pub(super) authorization: u32,
    pub(super) patient: u32,
}

/// How a scope shows a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake::scan) enum Shown {
    /// The scope does not show the row.
    No,
    /// The scope shows the row as its own.
    Own,
    /// The scope shows the row if a visible row refers to it.
    IfReferred,
}

impl SystemColumns {
    /// Returns the rows that the scope shows as its own. If `owners` is given, returns only rows of these owners.
    pub(in crate::lake::scan) fn own(&self, scope: &Scope, owners: Option<&OwnerSet>) -> Ranges {
        let Some(application) = self.applications.find(&scope.application) else {
            return Ranges::default();
        };
        let mut shown = Ranges::default();
        for at in self.candidates(owners) {
            let run = &self.runs[at];
            let named = owners.is_none_or(|owners| owners.holds(run.owner));
            if named && run.application == application && self.visibility(run, scope) == Shown::Own {
                shown.push(run.start..self.end(at));
            }
        }
        shown
    }

    /// Returns how the scope shows a row.
    pub(in crate::lake::scan) fn shows(&self, row: u32, scope: &Scope) -> Shown {
        let Some(run) = self.run(row) else { return Shown::No };
        match self.applications.find(&scope.application) {
            Some(application) if application == run.application => self.visibility(run, scope),
            _ => Shown::No,
        }
    }

    /// Returns the owner of a row. `None` if the row group has no such row.
    pub(in crate::lake::scan) fn owner(&self, row: u32) -> Option<i64> {
        self.run(row).map(|run| run.owner)
    }

    /// Returns the version of a row, and the time of its last update in microseconds since 1970.
    pub(in crate::lake::scan) fn version(&self, row: u32) -> (i64, i64) {
        (self.versions.at(row), self.updated.at(row))
    }

    /// Returns the size in bytes.
    pub(in crate::lake::scan) fn weight(&self) -> usize {
        self.runs.len() * size_of::<Run>()
            + [&self.applications, &self.authorizations, &self.patients]
                .iter()
                .map(|names| names.weight())
                .sum::<usize>()
            + (self.versions.0.len() + self.updated.0.len()) * size_of::<(u32, i64)>()
            + size_of::<SystemColumns>()
    }

    /// Returns the indexes of the runs that may belong to one of the owners, ascending.
    fn candidates(&self, owners: Option<&OwnerSet>) -> Vec<usize> {
        let Some((owners, (first, last))) = owners
            .filter(|_| self.sorted)
            .zip(self.runs.first().zip(self.runs.last()))
        else {
            return (0..self.runs.len()).collect();
        };
        let place = |owner: &i64| {
            let from = self.runs.partition_point(|run| run.owner < *owner);
            from..from + self.runs[from..].partition_point(|run| run.owner == *owner)
        };
        let here = owners.within(&(first.owner..=last.owner));
        here.iter().flat_map(place).collect()
    }

    fn run(&self, row: u32) -> Option<&Run> {
        let at = self.runs.partition_point(|run| run.start <= row).checked_sub(1)?;
        self.runs.get(at).filter(|_| row < self.rows)
    }

    fn end(&self, at: usize) -> u32 {
        self.runs.get(at + 1).map_or(self.rows, |next| next.start)
    }

    /// Returns how the scope shows the rows of a run. The run must belong to the scope's application.
    fn visibility(&self, run: &Run, scope: &Scope) -> Shown {
        match scope.patient.as_deref() {
            None => Shown::Own,
            Some(patient) if self.is_own(run, patient) => Shown::Own,
            Some(_) if run.owner == SHARED && run.authorization == NONE => Shown::IfReferred,
            Some(_) => Shown::No,
        }
    }

    fn is_own(&self, run: &Run, scope: &PatientScope) -> bool {
        let named = |names: &Names, id: u32, among: &[String]| {
            names.get(id).is_some_and(|name| among.iter().any(|one| one == name))
        };
        // Reserved owners belong to no person, even if a scope lists them.
        run.owner != SHARED
            && run.owner != crate::lake::owners::owner::APPLICATION_ONLY
            && scope.owners.contains(&run.owner)
            && match run.authorization {
                NONE => named(&self.patients, run.patient, &scope.patients),
                id => named(&self.authorizations, id, &scope.authorizations),
            }
    }
}

/// Runs of equal numbers: the first row of each run, and its number.
pub(super) struct Runs(Vec<(u32, i64)>);

impl Runs {
    pub(super) fn of(values: &[i64]) -> Runs {
        let mut runs: Vec<(u32, i64)> = Vec::new();
        for (row, value) in values.iter().enumerate() {
            if runs.last().is_none_or(|(_, last)| last != value) {
                runs.push((row as u32, *value));
            }
        }
        runs.shrink_to_fit();
        Runs(runs)
    }

    fn at(&self, row: u32) -> i64 {
        let at = self.0.partition_point(|(start, _)| *start <= row);
        at.checked_sub(1)
            .and_then(|at| self.0.get(at))
            .map_or(0, |(_, value)| *value)
    }
}
