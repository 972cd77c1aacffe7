//! The one terminology of the program: what files gave, what lies beside the lake and what HL7 defines itself.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::code_system::CodeSystem;
use super::error::TerminologyError;
use super::files;
use super::folder::{Folder, Stamp, Stored, Table};
use super::raw;
use super::snapshot::Snapshot;
use super::systems;
use super::value_set::ValueSet;

/// How long a change of what lies beside the lake may go unnoticed.
const REFRESH: Duration = Duration::from_secs(1);

/// Code systems and value sets. What lies beside the lake is looked at again each second, so that what another process loads is
/// noticed; until it is read whole, what was there before answers.
#[derive(Debug, Default)]
pub struct Terminology(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// What files and resources gave.
    given: Snapshot,
    /// With what lies beside the lake, if there is a lake.
    current: RwLock<Option<Arc<Snapshot>>>,
    watch: Option<Watch>,
}

/// What is needed to notice a change beside the lake.
#[derive(Debug)]
struct Watch {
    folder: Folder,
    seen: Mutex<Seen>,
    reading: AtomicBool,
    /// Whether systems are read when they are noticed, not when somebody asks for them.
    eager: AtomicBool,
}

#[derive(Debug)]
struct Seen {
    at: Instant,
    stamp: Option<Stamp>,
    stored: Stored,
}

impl Terminology {
    /// The CodeSystems and ValueSets of a JSON or NDJSON file, or of all those in a folder and the folders in it, single or in
    /// Bundles. Other resources are passed over. Of two with one URL and version the later file's counts, in order of names.
    pub fn load(path: &Path) -> Result<Terminology, TerminologyError> {
        given(path).map(Terminology::of)
    }

    /// The CodeSystems and ValueSets in a resource's JSON.
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

    /// What lies beside the lake in this folder, and what a file or folder gives besides. A lake without terminology, or no lake, is
    /// no error.
    pub fn open(data: &Path, path: Option<&Path>) -> Result<Terminology, TerminologyError> {
        let given = path.map_or_else(|| Ok(Snapshot::default()), given)?;
        let folder = Folder::new(data);
        let (stamp, stored) = folder.read(&Stored::default())?;
        let current = given.with_stored(&stored.tables, stored.sets.as_ref());
        Ok(Terminology(Arc::new(Shared {
            given,
            current: RwLock::new(Some(Arc::new(current))),
            watch: Some(Watch {
                folder,
                seen: Mutex::new(Seen {
                    at: Instant::now(),
                    stamp,
                    stored,
                }),
                reading: AtomicBool::new(false),
                eager: AtomicBool::new(false),
            }),
        })))
    }

    fn of(given: Snapshot) -> Terminology {
        Terminology(Arc::new(Shared {
            given,
            ..Shared::default()
        }))
    }

    /// Reads all systems beside the lake now, and later ones when they are noticed. Without this a system is read when somebody first
    /// asks for it.
    pub fn warm(&self) -> Result<(), TerminologyError> {
        let Some(watch) = &self.0.watch else {
            return Ok(());
        };
        watch.eager.store(true, Ordering::Relaxed);
        let tables = watch
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stored
            .tables
            .clone();
        tables.iter().try_for_each(|table| table.read())
    }

    /// Reads a code system beside the lake now, if it is there and that has not been done.
    pub fn read(&self, url: &str) -> Result<(), TerminologyError> {
        let Some(watch) = &self.0.watch else {
            return Ok(());
        };
        let tables = watch
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stored
            .tables
            .clone();
        let named = |table: &&Arc<Table>| table.url() == url || systems::alias(url) == Some(table.url());
        tables.iter().filter(named).try_for_each(|table| table.read())
    }

    /// The code system of a canonical, which may name a version; without one, the newest.
    pub fn code_system(&self, canonical: &str) -> Option<Arc<CodeSystem>> {
        self.with(|snapshot| snapshot.code_system(canonical))
    }

    /// The code systems in which a code is defined, the newest of each.
    pub fn systems_with(&self, code: &str) -> Vec<Arc<CodeSystem>> {
        self.with(|snapshot| snapshot.systems_with(code))
    }

    /// The value set of a canonical, which may name a version; without one, the newest. Worked out once.
    pub fn value_set(&self, canonical: &str) -> Option<Arc<ValueSet>> {
        self.with(|snapshot| snapshot.value_set(canonical))
    }

    /// Whether `code` is `descendant` or an ancestor of it in their system; `None` if that is not known.
    pub fn subsumes(&self, system: &str, code: &str, descendant: &str) -> Option<bool> {
        match self.code_system(system) {
            Some(system) => system.subsumes(code, descendant),
            None => (code == descendant).then_some(true),
        }
    }

    /// The display of a code, in the form its system has in FHIR. An NDC whose package has none has its product's.
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
        let Some(watch) = &self.0.watch else {
            return ask(&self.0.given);
        };
        self.refresh(watch);
        let current = self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone();
        ask(current.as_deref().unwrap_or(&self.0.given))
    }

    /// Looks once a second whether something else lies beside the lake, and has it read by a thread of its own.
    fn refresh(&self, watch: &Watch) {
        let Ok(mut seen) = watch.seen.try_lock() else {
            return;
        };
        if seen.at.elapsed() < REFRESH {
            return;
        }
        seen.at = Instant::now();
        if watch.folder.stamp() == seen.stamp || watch.reading.swap(true, Ordering::AcqRel) {
            return;
        }
        let shared = self.0.clone();
        let reader = std::thread::Builder::new().name("terminology".to_string());
        if let Err(error) = reader.spawn(move || shared.read()) {
            tracing::error!(%error, "no thread to read terminology with; it is tried again in a second");
            watch.reading.store(false, Ordering::Release);
        }
    }
}

impl Shared {
    /// Reads what lies beside the lake and takes it, if it is whole.
    fn read(&self) {
        let Some(watch) = &self.watch else { return };
        let lock = || watch.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = lock().stored.clone();
        // If it cannot be read it is tried again only when it has changed.
        let attempted = watch.folder.stamp();
        let eager = watch.eager.load(Ordering::Relaxed);
        let read = watch.folder.read(&before).and_then(|(stamp, stored)| {
            if eager {
                stored.tables.iter().try_for_each(|table| table.read())?;
            }
            Ok((stamp, stored))
        });
        match read {
            Ok((stamp, stored)) => {
                let next = self.given.with_stored(&stored.tables, stored.sets.as_ref());
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(next));
                let mut seen = lock();
                seen.stamp = stamp;
                seen.stored = stored;
                tracing::info!(folder = %watch.folder.path().display(), "terminology read");
            }
            Err(error) => {
                lock().stamp = attempted;
                tracing::error!(%error, "terminology beside the lake cannot be read; the earlier one is kept")
            }
        }
        watch.reading.store(false, Ordering::Release);
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
