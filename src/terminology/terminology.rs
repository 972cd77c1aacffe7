//! The program's terminology: loaded files, tables beside the lake, and HL7's own definitions.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::codes::systems;
use super::error::TerminologyError;
use super::files;
use super::folder::{Folder, Stored};
use super::sets::raw;
use super::sets::value_set::ValueSet;
use super::snapshot::Snapshot;
use super::system::code_system::CodeSystem;
use crate::published::Watched;

/// Code systems and value sets. At most once a second, a call checks whether another process has changed the tables
/// beside the lake. Until a changed list has been read, calls use the former tables.
#[derive(Debug, Default)]
pub struct Terminology(Source);

#[derive(Debug)]
enum Source {
    /// Code systems and value sets in memory, from files or from a resource.
    Given(Box<Snapshot>),
    /// The tables beside the lake, together with the code systems and value sets of the given files.
    Beside {
        watched: Watched<Held, TerminologyError>,
        /// Whether the systems of a changed list are read as soon as the list is noticed. If not, each system is read
        /// at its first use.
        eager: Arc<AtomicBool>,
    },
}

impl Default for Source {
    fn default() -> Source {
        Source::Given(Box::default())
    }
}

/// The tables of one list, and the snapshot that combines them with the given files.
#[derive(Debug)]
struct Held {
    stored: Stored,
    snapshot: Snapshot,
}

impl Terminology {
    /// Reads the CodeSystems and ValueSets of a JSON or NDJSON file, or of all files in a folder and its subfolders,
    /// single or in Bundles. Other resources are skipped. If two resources have the same URL and version, the one in
    /// the later file counts. The files are in the order of their names.
    pub fn load(path: &Path) -> Result<Terminology, TerminologyError> {
        given(path).map(Terminology::of)
    }

    /// Reads the CodeSystems and ValueSets in JSON: a single resource, or a Bundle of them.
    pub fn parse(json: &str) -> Result<Terminology, serde_json::Error> {
        let mut given = Snapshot::default();
        let mut failed = None;
        raw::each_resource(json, &mut |resource| {
            failed = failed.take().or(given.add(resource).err());
        })?;
        match failed {
            Some(error) => Err(serde::de::Error::custom(error)),
            None => Ok(Terminology::of(given)),
        }
    }

    /// Opens the tables beside the lake in the folder `data`. Also reads the file or folder `path`, if there is one. It
    /// is no error if the lake has no terminology, or if there is no lake.
    pub fn open(data: &Path, path: Option<&Path>) -> Result<Terminology, TerminologyError> {
        let given = path.map_or_else(|| Ok(Snapshot::default()), given)?;
        let eager = Arc::new(AtomicBool::new(false));
        let is_eager = eager.clone();
        let watched = Watched::open(
            Folder::new(data).tables().clone(),
            move |folder, before: Option<&Held>| {
                let none = Stored::default();
                let stored = Stored::read(folder, before.map_or(&none, |before| &before.stored))?;
                if is_eager.load(Ordering::Relaxed) {
                    stored.tables.iter().try_for_each(|table| table.read())?;
                }
                let snapshot = given.with_stored(&stored.tables, stored.sets.as_ref());
                Ok(Held { stored, snapshot })
            },
        )?;
        Ok(Terminology(Source::Beside { watched, eager }))
    }

    fn of(given: Snapshot) -> Terminology {
        Terminology(Source::Given(Box::new(given)))
    }

    /// Reads all systems beside the lake now. From then on, also reads the systems of a changed list as soon as the
    /// list is noticed. Without this call, a system is read at its first use.
    pub fn warm(&self) -> Result<(), TerminologyError> {
        let Source::Beside { watched, eager } = &self.0 else {
            return Ok(());
        };
        eager.store(true, Ordering::Relaxed);
        let held = watched.held();
        held.stored.tables.iter().try_for_each(|table| table.read())
    }

    /// Reads all versions of a code system beside the lake now, unless they were read before.
    pub fn read(&self, url: &str) -> Result<(), TerminologyError> {
        let Source::Beside { watched, .. } = &self.0 else {
            return Ok(());
        };
        let held = watched.held();
        let mut tables = held.stored.tables.iter();
        tables.try_for_each(|table| {
            if table.url() == url || systems::alias(url) == Some(table.url()) {
                table.read()
            } else {
                Ok(())
            }
        })
    }

    /// Returns the code system of a canonical, which may name a version. Without a version, returns the newest.
    pub fn code_system(&self, canonical: &str) -> Option<Arc<CodeSystem>> {
        self.with(|snapshot| snapshot.code_system(canonical))
    }

    /// Returns the code systems that define a code, the newest version of each. HL7's own systems, which are part of
    /// the program, are left out.
    pub fn systems_with(&self, code: &str) -> Vec<Arc<CodeSystem>> {
        self.with(|snapshot| snapshot.systems_with(code))
    }

    /// Returns the value set of a canonical, which may name a version. Without a version, returns the newest. Each
    /// value set is computed once.
    pub fn value_set(&self, canonical: &str) -> Option<Arc<ValueSet>> {
        self.with(|snapshot| snapshot.value_set(canonical))
    }

    /// Whether `code` is `descendant` or an ancestor of `descendant` in their system. `None` if unknown.
    pub fn subsumes(&self, system: &str, code: &str, descendant: &str) -> Option<bool> {
        match self.code_system(system) {
            Some(system) => system.subsumes(code, descendant),
            None => (code == descendant).then_some(true),
        }
    }

    /// Returns the display of a code. The code must have the form that FHIR uses for its system. An NDC of 11 digits is
    /// the code of a package. If it has no display, returns the display of the product.
    pub fn display(&self, system: &str, code: &str) -> Option<Cow<'_, str>> {
        let found = self.code_system(system)?;
        let display = found.display(code);
        let product = || match system {
            systems::NDC if code.len() == 11 => found.display(code.get(..9)?),
            _ => None,
        };
        display.or_else(product).map(|display| Cow::Owned(display.to_string()))
    }

    fn with<T>(&self, ask: impl FnOnce(&Snapshot) -> T) -> T {
        match &self.0 {
            Source::Given(given) => ask(given),
            Source::Beside { watched, .. } => ask(&watched.get().snapshot),
        }
    }
}

fn given(path: &Path) -> Result<Snapshot, TerminologyError> {
    let mut given = Snapshot::default();
    let mut failed = None;
    files::read(path, &mut |resource| {
        failed = failed.take().or(given.add(resource).err());
    })?;
    match failed {
        Some(error) => Err(error),
        None if given.is_empty() => Err(TerminologyError::Empty { path: path.to_owned() }),
        None => Ok(given),
    }
}
