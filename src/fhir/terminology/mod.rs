//! Code systems and value sets given as files: whether a code is in a value set, and whether one code subsumes another.
//!
//! What the files leave open stays open: every answer is yes, no or not known. A code system that is not given, or only in part, is
//! no reason to say no. Nothing is fetched and nothing comes with the program.

mod code_system;
mod files;
mod filter;
mod raw;
mod value_set;

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, RwLock};

pub use code_system::CodeSystem;
pub use files::TerminologyError;
pub use value_set::{Lacking, ValueSet};

/// Code systems and value sets by canonical URL.
#[derive(Debug, Default)]
pub struct Terminology {
    systems: HashMap<String, Vec<Arc<CodeSystem>>>,
    sets: HashMap<String, Vec<Arc<raw::ValueSet>>>,
    /// Value sets as they have been worked out, by what they were asked for.
    resolved: RwLock<HashMap<String, Option<Arc<ValueSet>>>>,
}

impl Terminology {
    /// The CodeSystems and ValueSets of a JSON or NDJSON file, or of all those in a folder and the folders in it, single or in
    /// Bundles. Other resources are passed over. Of two with one URL and version the later file's counts, in order of names.
    pub fn load(path: &Path) -> Result<Terminology, TerminologyError> {
        let mut terminology = Terminology::default();
        files::read(path, &mut |resource| terminology.add(resource))?;
        if terminology.systems.is_empty() && terminology.sets.is_empty() {
            return Err(TerminologyError::Empty { path: path.to_owned() });
        }
        Ok(terminology)
    }

    /// The CodeSystems and ValueSets in a resource's JSON.
    pub fn parse(json: &str) -> Result<Terminology, serde_json::Error> {
        let mut terminology = Terminology::default();
        raw::each_resource(json, &mut |resource| terminology.add(resource))?;
        Ok(terminology)
    }

    fn add(&mut self, resource: raw::Resource) {
        match resource {
            raw::Resource::CodeSystem(system) => {
                let system = CodeSystem::new(system);
                let known = self.systems.entry(system.url().to_string()).or_default();
                known.retain(|earlier| earlier.version() != system.version());
                known.push(Arc::new(system));
            }
            raw::Resource::ValueSet(set) => {
                let known = self.sets.entry(set.url.clone()).or_default();
                known.retain(|earlier| earlier.version != set.version);
                known.push(Arc::new(set));
            }
        }
    }

    /// The code system of a canonical, which may name a version; without one, the newest.
    pub fn code_system(&self, canonical: &str) -> Option<Arc<CodeSystem>> {
        let (url, version) = split(canonical);
        newest(self.systems.get(url)?, version, |system| system.version()).cloned()
    }

    /// The code systems in which a code is defined, the newest of each.
    pub fn systems_with(&self, code: &str) -> Vec<Arc<CodeSystem>> {
        let mut found: Vec<Arc<CodeSystem>> = self
            .systems
            .keys()
            .filter_map(|url| self.code_system(url))
            .filter(|system| system.contains(code) == Some(true))
            .collect();
        found.sort_by(|one, other| one.url().cmp(other.url()));
        found
    }

    /// The value set of a canonical, which may name a version; without one, the newest. Worked out once.
    pub fn value_set(&self, canonical: &str) -> Option<Arc<ValueSet>> {
        let known = self.resolved.read().ok()?.get(canonical).cloned();
        if let Some(known) = known {
            return known;
        }
        let resolved = value_set::resolve(self, canonical);
        if let Ok(mut known) = self.resolved.write() {
            known.insert(canonical.to_string(), resolved.clone());
        }
        resolved
    }

    fn raw_value_set(&self, canonical: &str) -> Option<Arc<raw::ValueSet>> {
        let (url, version) = split(canonical);
        newest(self.sets.get(url)?, version, |set| set.version.as_deref()).cloned()
    }

    /// Whether `code` is `descendant` or an ancestor of it in their system; `None` where the files do not tell.
    pub fn subsumes(&self, system: &str, code: &str, descendant: &str) -> Option<bool> {
        match self.code_system(system) {
            Some(system) => system.subsumes(code, descendant),
            None => (code == descendant).then_some(true),
        }
    }
}

/// A canonical's URL and version.
fn split(canonical: &str) -> (&str, Option<&str>) {
    let canonical = canonical.split('#').next().unwrap_or(canonical);
    match canonical.split_once('|') {
        Some((url, version)) => (url, Some(version)),
        None => (canonical, None),
    }
}

/// The one of this version, or the one of the greatest.
fn newest<'a, T>(all: &'a [T], version: Option<&str>, of: impl Fn(&T) -> Option<&str>) -> Option<&'a T> {
    match version {
        Some(_) => all.iter().find(|one| of(one) == version),
        None => all.iter().max_by(|one, other| by_version(of(one), of(other))),
    }
}

/// Versions part by part, numbers as numbers; none at all before any.
fn by_version(one: Option<&str>, other: Option<&str>) -> Ordering {
    let (Some(one), Some(other)) = (one, other) else {
        return one.is_some().cmp(&other.is_some());
    };
    let parts = |text: &str| -> Vec<(Option<u64>, String)> {
        text.split(['.', '-'])
            .map(|part| (part.parse().ok(), part.to_string()))
            .collect()
    };
    parts(one).cmp(&parts(other))
}

/// Yes if any says so, no if all do.
fn any(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut found = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            None => found = None,
            Some(false) => {}
        }
    }
    found
}

/// No if any says so, yes if all do.
fn all(answers: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any(answers.into_iter().map(|answer| answer.map(|answer| !answer))).map(|found| !found)
}
