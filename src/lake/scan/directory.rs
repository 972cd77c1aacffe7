//! The system columns of a row group that decide who sees a row and what its version is, kept as runs of equal values: rows
//! lie sorted by owner, so a person's rows are one run, and a commit's rows share their version and time.
//!
//! It applies the scope to rows. Whether a *shared* row is among those that a person's rows refer to is `shared`'s to say.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, TimestampMicrosecondType};
use rustc_hash::FxHashMap;

use super::columns::{read_leaf, texts};
use super::error::ScanError;
use super::file::OpenFile;
use super::owner_set::OwnerSet;
use super::ranges::Ranges;
use crate::lake::owner::SHARED;
use crate::lake::scope::{PatientScope, Scope};

/// The system columns of one row group.
pub(super) struct Directory {
    rows: u32,
    runs: Vec<Run>,
    /// Whether owners ascend, as they do in every file that this program writes.
    sorted: bool,
    applications: Names,
    authorizations: Names,
    patients: Names,
    versions: Runs,
    updated: Runs,
}

/// Rows from `start` to the next run's start that agree in all of this.
struct Run {
    start: u32,
    owner: i64,
    application: u32,
    authorization: u32,
    patient: u32,
}

/// How a scope sees a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Not at all.
    No,
    /// As one of its own.
    Own,
    /// If one of the rows it sees refers to it.
    IfReferred,
}

impl Directory {
    /// Reads the columns of a row group.
    pub(super) fn build(file: &Arc<OpenFile>, group: usize) -> Result<Directory, ScanError> {
        let rows = file.groups()[group].rows;
        let column = |name| read_leaf(file, group, name);
        let owner = column("owner")?;
        let owner = owner
            .as_primitive_opt::<Int64Type>()
            .ok_or_else(|| file.missing("owner"))?
            .values()
            .clone();
        // A file in which nothing has an authorization, or no row is in a compartment, may lack the column.
        let optional = |name: &'static str| match file.leaf(name) {
            Some(_) => column(name),
            None => Ok(arrow::array::new_null_array(&DataType::Utf8, rows as usize)),
        };
        let (application, authorization, patient) =
            (column("application")?, optional("authorization")?, optional("patient")?);
        let application = texts(file, &application, "application")?;
        let authorization = texts(file, &authorization, "authorization")?;
        let patient = texts(file, &patient, "patient")?;
        let mut directory = Directory {
            rows,
            runs: Vec::new(),
            sorted: owner.is_sorted(),
            applications: Names::default(),
            authorizations: Names::default(),
            patients: Names::default(),
            versions: Runs::of(&column("version")?, file)?,
            updated: Runs::of(&column("last_updated")?, file)?,
        };
        let values = |row: usize| (owner[row], application(row), authorization(row), patient(row));
        let mut ids = [FxHashMap::default(), FxHashMap::default(), FxHashMap::default()];
        for row in 0..rows as usize {
            if row == 0 || values(row) != values(row - 1) {
                let (owner, application, authorization, patient) = values(row);
                directory.runs.push(Run {
                    start: row as u32,
                    owner,
                    application: directory.applications.intern(&mut ids[0], application),
                    authorization: directory.authorizations.intern(&mut ids[1], authorization),
                    patient: directory.patients.intern(&mut ids[2], patient),
                });
            }
        }
        Ok(directory)
    }

    /// Rows that the scope shows as its own, of these owners only if any are named.
    pub(super) fn own(&self, scope: &Scope, owners: Option<&OwnerSet>) -> Ranges {
        let Some(application) = self.applications.find(&scope.application) else {
            return Ranges::default();
        };
        let mut shown = Ranges::default();
        for at in self.candidates(owners) {
            let run = &self.runs[at];
            let named = owners.is_none_or(|owners| owners.holds(run.owner));
            if named && run.application == application && self.shown(run, scope) == Shown::Own {
                shown.push(run.start..self.end(at));
            }
        }
        shown
    }

    /// How the scope sees one row.
    pub(super) fn shows(&self, row: u32, scope: &Scope) -> Shown {
        let Some(run) = self.run(row) else { return Shown::No };
        match self.applications.find(&scope.application) {
            Some(application) if application == run.application => self.shown(run, scope),
            _ => Shown::No,
        }
    }

    /// Under whom a row lies.
    pub(super) fn owner(&self, row: u32) -> Option<i64> {
        self.run(row).map(|run| run.owner)
    }

    /// Version and time of last update of a row, in microseconds since 1970.
    pub(super) fn version(&self, row: u32) -> (i64, i64) {
        (self.versions.at(row), self.updated.at(row))
    }

    /// Bytes it takes.
    pub(super) fn weight(&self) -> usize {
        self.runs.len() * size_of::<Run>()
            + [&self.applications, &self.authorizations, &self.patients]
                .iter()
                .map(|names| names.weight())
                .sum::<usize>()
            + (self.versions.0.len() + self.updated.0.len()) * size_of::<(u32, i64)>()
    }

    /// Places of the runs that may be of one of the owners, ascending.
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

    /// How the scope sees the rows of a run of its own application.
    fn shown(&self, run: &Run, scope: &Scope) -> Shown {
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
        // Reserved owners are nobody's, whatever a scope says.
        run.owner != SHARED
            && run.owner != crate::lake::owner::APPLICATION_ONLY
            && scope.owners.contains(&run.owner)
            && match run.authorization {
                NONE => named(&self.patients, run.patient, &scope.patients),
                id => named(&self.authorizations, id, &scope.authorizations),
            }
    }
}

/// Stands for null among the ids of [`Names`].
const NONE: u32 = u32::MAX;

/// Distinct texts.
#[derive(Default)]
struct Names(Vec<Box<str>>);

impl Names {
    fn intern<'a>(&mut self, ids: &mut FxHashMap<&'a str, u32>, text: Option<&'a str>) -> u32 {
        let Some(text) = text else { return NONE };
        *ids.entry(text).or_insert_with(|| {
            self.0.push(text.into());
            self.0.len() as u32 - 1
        })
    }

    fn find(&self, text: &str) -> Option<u32> {
        self.0.iter().position(|have| &**have == text).map(|at| at as u32)
    }

    fn get(&self, id: u32) -> Option<&str> {
        self.0.get(id as usize).map(|text| &**text)
    }

    fn weight(&self) -> usize {
        self.0.iter().map(|text| text.len() + 24).sum()
    }
}

/// Runs of equal numbers, by their first row.
struct Runs(Vec<(u32, i64)>);

impl Runs {
    fn of(column: &ArrayRef, file: &OpenFile) -> Result<Runs, ScanError> {
        let values = match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().values().clone(),
            DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, _) => {
                column.as_primitive::<TimestampMicrosecondType>().values().clone()
            }
            _ => return Err(file.missing("version or last_updated of the right type")),
        };
        let mut runs: Vec<(u32, i64)> = Vec::new();
        for (row, value) in values.iter().enumerate() {
            if runs.last().is_none_or(|(_, last)| last != value) {
                runs.push((row as u32, *value));
            }
        }
        Ok(Runs(runs))
    }

    fn at(&self, row: u32) -> i64 {
        let at = self.0.partition_point(|(start, _)| *start <= row);
        at.checked_sub(1)
            .and_then(|at| self.0.get(at))
            .map_or(0, |(_, value)| *value)
    }
}
