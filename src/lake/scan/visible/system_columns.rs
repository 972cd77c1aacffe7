//! The system columns of a row group that decide who sees a row and which version it has, as runs of equal values. Rows
//! are sorted by owner, so a person's rows are one run, and the rows of a commit share their version and time.
//!
//! This file applies the scope to rows. `shared_rows` decides whether a *shared* row is visible.

use std::sync::Arc;

use super::super::cache::file::OpenFile;
use super::super::conditions::owner_set::OwnerSet;
use super::super::conditions::ranges::Ranges;
use super::super::error::ScanError;
use super::system_column::{NONE, Names, names, numbers};
use crate::lake::owners::owner::SHARED;
use crate::lake::owners::scope::{PatientScope, Scope};

/// The system columns of one row group.
pub(in crate::lake::scan) struct SystemColumns {
    rows: u32,
    runs: Vec<Run>,
    /// Whether owners ascend, as in every file that this program writes.
    sorted: bool,
    applications: Names,
    authorizations: Names,
    patients: Names,
    versions: Runs,
    updated: Runs,
}

/// Rows from `start` to the next run's start, which have the same values in all these columns.
struct Run {
    start: u32,
    owner: i64,
    application: u32,
    authorization: u32,
    patient: u32,
}

/// How a scope sees a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake::scan) enum Shown {
    /// Not at all.
    No,
    /// The scope shows it as its own row.
    Own,
    /// The scope shows it if a visible row refers to it.
    IfReferred,
}

impl SystemColumns {
    /// Reads the columns of a row group.
    pub(in crate::lake::scan) fn build(file: &Arc<OpenFile>, group: usize) -> Result<SystemColumns, ScanError> {
        let rows = file.groups()[group].rows;
        let owner = numbers(file, group, "owner")?;
        file.require("application")?;
        let (applications, application) = names(file, group, "application")?;
        // A file may lack this column: if no row has an authorization, or no row is in a compartment.
        let (authorizations, authorization) = names(file, group, "authorization")?;
        let (patients, patient) = names(file, group, "patient")?;
        let mut directory = SystemColumns {
            rows,
            runs: Vec::new(),
            sorted: owner.is_sorted(),
            applications,
            authorizations,
            patients,
            versions: Runs::of(&numbers(file, group, "version")?),
            updated: Runs::of(&numbers(file, group, "last_updated")?),
        };
        let values = |row: usize| (owner[row], application[row], authorization[row], patient[row]);
        for row in 0..rows as usize {
            if row == 0 || values(row) != values(row - 1) {
                let (owner, application, authorization, patient) = values(row);
                directory.runs.push(Run {
                    start: row as u32,
                    owner,
                    application,
                    authorization,
                    patient,
                });
            }
        }
        directory.runs.shrink_to_fit();
        Ok(directory)
    }

    /// Rows that the scope shows as its own. With `owners`, only their rows.
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

    /// How the scope sees one row.
    pub(in crate::lake::scan) fn shows(&self, row: u32, scope: &Scope) -> Shown {
        let Some(run) = self.run(row) else { return Shown::No };
        match self.applications.find(&scope.application) {
            Some(application) if application == run.application => self.visibility(run, scope),
            _ => Shown::No,
        }
    }

    /// The owner of a row.
    pub(in crate::lake::scan) fn owner(&self, row: u32) -> Option<i64> {
        self.run(row).map(|run| run.owner)
    }

    /// Version and time of last update of a row, in microseconds since 1970.
    pub(in crate::lake::scan) fn version(&self, row: u32) -> (i64, i64) {
        (self.versions.at(row), self.updated.at(row))
    }

    /// Its size in bytes.
    pub(in crate::lake::scan) fn weight(&self) -> usize {
        self.runs.len() * size_of::<Run>()
            + [&self.applications, &self.authorizations, &self.patients]
                .iter()
                .map(|names| names.weight())
                .sum::<usize>()
            + (self.versions.0.len() + self.updated.0.len()) * size_of::<(u32, i64)>()
            + size_of::<SystemColumns>()
    }

    /// Indexes of the runs that may belong to one of the owners, ascending.
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

    /// How the scope sees the rows of a run, which belong to its application.
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
        // Reserved owners belong to no person, even if a scope names them.
        run.owner != SHARED
            && run.owner != crate::lake::owners::owner::APPLICATION_ONLY
            && scope.owners.contains(&run.owner)
            && match run.authorization {
                NONE => named(&self.patients, run.patient, &scope.patients),
                id => named(&self.authorizations, id, &scope.authorizations),
            }
    }
}

/// Runs of equal numbers, by their first row.
struct Runs(Vec<(u32, i64)>);

impl Runs {
    fn of(values: &[i64]) -> Runs {
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
