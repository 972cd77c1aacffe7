//! An immutable state of all code systems and value sets.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use super::builtin;
use super::codes::systems;
use super::codes::version::{newest, split};
use super::error::TerminologyError;
use super::folder::{StoredSets, Table};
use super::sets::raw;
use super::sets::value_set;
use super::sets::value_set::ValueSet;
use super::system::code_system::CodeSystem;

/// Code systems and value sets by canonical URL.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    systems: HashMap<String, Vec<HeldSystem>>,
    sets: HashMap<String, Vec<HeldSet>>,
    /// Computed value sets, by the canonicals under which they were requested.
    resolved: RwLock<HashMap<String, Arc<ValueSet>>>,
}

/// A code system in memory, or a table beside the lake, which is read at its first use.
#[derive(Clone, Debug)]
enum HeldSystem {
    Given(Arc<CodeSystem>),
    Stored(Arc<Table>),
}

impl HeldSystem {
    fn version(&self) -> Option<&str> {
        match self {
            HeldSystem::Given(system) => system.version(),
            HeldSystem::Stored(table) => table.version(),
        }
    }

    fn get(&self) -> Option<Arc<CodeSystem>> {
        match self {
            HeldSystem::Given(system) => Some(system.clone()),
            HeldSystem::Stored(table) => table.system(),
        }
    }
}

/// A value set in memory, or a file of value sets beside the lake and the number of the value set in this file.
#[derive(Clone, Debug)]
enum HeldSet {
    Given(Arc<raw::ValueSet>),
    Stored(Arc<StoredSets>, u32),
}

impl HeldSet {
    fn version(&self) -> Option<&str> {
        match self {
            HeldSet::Given(set) => set.version.as_deref(),
            HeldSet::Stored(sets, number) => sets.version(*number),
        }
    }

    fn get(&self) -> Option<Arc<raw::ValueSet>> {
        match self {
            HeldSet::Given(set) => Some(set.clone()),
            HeldSet::Stored(sets, number) => sets.get(*number),
        }
    }
}

impl Snapshot {
    /// Adds a resource. It replaces an earlier one with the same URL and version.
    pub(super) fn add(&mut self, resource: raw::Resource) -> Result<(), TerminologyError> {
        match resource {
            raw::Resource::CodeSystem(system) => {
                let system = CodeSystem::from_raw(system)?;
                let known = self.systems.entry(system.url().to_string()).or_default();
                known.retain(|earlier| earlier.version() != system.version());
                known.push(HeldSystem::Given(Arc::new(system)));
            }
            raw::Resource::ValueSet(set) => {
                let known = self.sets.entry(set.url.clone()).or_default();
                known.retain(|earlier| earlier.version() != set.version.as_deref());
                known.push(HeldSet::Given(Arc::new(set)));
            }
        }
        Ok(())
    }

    /// Returns a snapshot with the same resources, and with the tables and value sets beside the lake. If both have a
    /// resource with the same URL and version, the one of this snapshot counts.
    pub(super) fn with_stored(&self, tables: &[Arc<Table>], sets: Option<&Arc<StoredSets>>) -> Snapshot {
        let mut snapshot = Snapshot {
            systems: self.systems.clone(),
            sets: self.sets.clone(),
            resolved: RwLock::default(),
        };
        for table in tables {
            let known = snapshot.systems.entry(table.url().to_string()).or_default();
            if known.iter().all(|one| one.version() != table.version()) {
                known.push(HeldSystem::Stored(table.clone()));
            }
        }
        for (sets, number) in sets
            .into_iter()
            .flat_map(|sets| (0..sets.len()).map(move |number| (sets, number)))
        {
            let known = snapshot.sets.entry(sets.url(number).to_string()).or_default();
            if known.iter().all(|one| one.version() != sets.version(number)) {
                known.push(HeldSet::Stored(sets.clone(), number));
            }
        }
        snapshot
    }

    pub(super) fn is_empty(&self) -> bool {
        self.systems.is_empty() && self.sets.is_empty()
    }

    /// Returns the code system of a canonical, which may name a version. Without a version, returns the newest. Returns
    /// one of HL7's own systems, which are part of the program, only if no other system fits the canonical.
    pub(super) fn code_system(&self, canonical: &str) -> Option<Arc<CodeSystem>> {
        let (url, version) = split(canonical);
        let held = |url: &str| newest(self.systems.get(url)?, version, |held| held.version())?.get();
        let other = || systems::alias(url).and_then(held);
        held(url).or_else(other).or_else(|| {
            let builtin = builtin::code_system(url)?;
            let fits = version.is_none() || builtin.version() == version;
            fits.then_some(builtin)
        })
    }

    /// Returns the code systems that define a code, the newest version of each. HL7's own systems, which are part of
    /// the program, are ignored, because many words are by chance a code of one of them.
    pub(super) fn systems_with(&self, code: &str) -> Vec<Arc<CodeSystem>> {
        let held = self.systems.keys().filter_map(|url| self.code_system(url));
        let mut found: Vec<Arc<CodeSystem>> = held.filter(|system| system.contains(code) == Some(true)).collect();
        found.sort_by(|one, other| one.url().cmp(other.url()));
        found
    }

    /// Returns the value set of a canonical, which may name a version. Without a version, returns the newest. Each
    /// value set is computed once.
    pub(super) fn value_set(&self, canonical: &str) -> Option<Arc<ValueSet>> {
        let canonical = canonical.split('#').next().unwrap_or(canonical);
        let known = self.resolved.read().ok()?.get(canonical).cloned();
        if known.is_some() {
            return known;
        }
        // Do not cache that a value set does not exist. Clients may request any name, so the cache could grow without
        // limit.
        let resolved = value_set::resolve(self, canonical)?;
        // Do not cache the value set while the table of a code system cannot be read. When it can be read again, the
        // value set must be computed again.
        let has_failed = |held: &HeldSystem| matches!(held, HeldSystem::Stored(table) if table.has_failed());
        if self.systems.values().flatten().any(has_failed) {
            return Some(resolved);
        }
        if let Ok(mut known) = self.resolved.write() {
            known.insert(canonical.to_string(), resolved.clone());
        }
        Some(resolved)
    }

    pub(super) fn raw_value_set(&self, canonical: &str) -> Option<Arc<raw::ValueSet>> {
        let (url, version) = split(canonical);
        newest(self.sets.get(url)?, version, |held| held.version())?.get()
    }
}
