//! A value set with all value sets to which it refers. Decides which codes it contains.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::codes::truth::{all, any};
use super::super::snapshot::Snapshot;
use super::super::system::code_system::CodeSystem;
use super::super::system::filter::Passing;
use super::raw;

/// A value set, computed as far as the loaded files allow.
#[derive(Debug)]
pub struct ValueSet {
    composed: Option<Composed>,
    expanded: Option<Expanded>,
    systems: BTreeSet<String>,
    /// Whether the value set may have codes of systems that are not in `systems`.
    open: bool,
}

#[derive(Debug)]
struct Composed {
    include: Vec<Clause>,
    exclude: Vec<Clause>,
}

/// An `include` or `exclude`: codes of a system, codes of value sets, or codes that are in both.
#[derive(Debug)]
struct Clause {
    system: Option<String>,
    codes: Codes,
    /// The value sets that the clause names. A code must be in all of them. `None` stands for a value set that is not
    /// loaded.
    sets: Vec<Option<Arc<ValueSet>>>,
    lacking: Option<Lacking>,
}

/// A code system or value set that is needed but not loaded completely. The membership of some codes is then unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// `value set` or `code system`.
    pub what: &'static str,
    /// The canonical URL.
    pub canonical: String,
}

#[derive(Debug)]
enum Codes {
    /// All codes of the system. `None` if the system is not loaded.
    All(Option<Arc<CodeSystem>>),
    /// The listed codes, and the system if it is loaded. The codes are in lower case if the system is loaded and is not
    /// case-sensitive.
    Listed(FxHashSet<String>, Option<Arc<CodeSystem>>),
    /// The system, and which of its codes pass the filters. `None` if the system is not loaded.
    Filtered(Option<(Arc<CodeSystem>, Passing)>),
}

#[derive(Debug)]
struct Expanded {
    codes: FxHashMap<String, FxHashSet<String>>,
    /// Whether the expansion lists all codes.
    complete: bool,
}

/// Extensions that mark an expansion as incomplete.
const PARTIAL: [&str; 2] = [
    "http://hl7.org/fhir/StructureDefinition/valueset-unclosed",
    "http://hl7.org/fhir/StructureDefinition/valueset-toocostly",
];

/// The maximum length of a chain of value sets in which each refers to the next. The next value set after such a chain
/// counts as not loaded.
const MAX_DEPTH: usize = 64;

/// The state of a computation of value sets.
struct Resolving<'t> {
    terminology: &'t Snapshot,
    /// The value sets that are being computed, as `url|version`. Each of them refers to the next one in this list.
    within: Vec<String>,
    done: FxHashMap<String, Option<Arc<ValueSet>>>,
}

/// Computes a value set. `None` if it is not loaded. If a reference leads back to a value set that is being computed,
/// the target counts as not loaded.
pub(in crate::terminology) fn resolve(terminology: &Snapshot, canonical: &str) -> Option<Arc<ValueSet>> {
    let mut resolving = Resolving {
        terminology,
        within: Vec::new(),
        done: FxHashMap::default(),
    };
    resolving.resolve(canonical)
}

impl Resolving<'_> {
    fn resolve(&mut self, canonical: &str) -> Option<Arc<ValueSet>> {
        if let Some(done) = self.done.get(canonical) {
            return done.clone();
        }
        let raw = self.terminology.raw_value_set(canonical)?;
        let name = format!("{}|{}", raw.url, raw.version.as_deref().unwrap_or_default());
        if self.within.contains(&name) || self.within.len() >= MAX_DEPTH {
            return None;
        }
        self.within.push(name);
        let composed = raw.compose.as_ref().map(|compose| Composed {
            include: compose.include.iter().map(|clause| self.clause(clause)).collect(),
            exclude: compose.exclude.iter().map(|clause| self.clause(clause)).collect(),
        });
        self.within.pop();
        let set = Some(Arc::new(ValueSet::new(
            composed,
            raw.expansion.as_ref().map(Expanded::new),
        )));
        self.done.insert(canonical.to_string(), set.clone());
        set
    }

    fn clause(&mut self, raw: &raw::Clause) -> Clause {
        let system = raw.system.as_ref().and_then(|url| {
            let canonical = match &raw.version {
                Some(version) => format!("{url}|{version}"),
                None => url.clone(),
            };
            self.terminology.code_system(&canonical)
        });
        let codes = if !raw.concept.is_empty() {
            let listed = raw.concept.iter().map(|listed| key(system.as_deref(), &listed.code));
            Codes::Listed(listed.collect(), system)
        } else if !raw.filter.is_empty() {
            Codes::Filtered(system.map(|system| {
                let passing = Passing::new(&system, &raw.filter);
                (system, passing)
            }))
        } else {
            Codes::All(system)
        };
        let sets: Vec<_> = raw.value_set.iter().map(|set| self.resolve(set)).collect();
        let system = raw.system.iter().filter(|_| codes.lack_system()).map(|url| Lacking {
            what: "code system",
            canonical: url.clone(),
        });
        let of_sets = raw
            .value_set
            .iter()
            .zip(&sets)
            .filter_map(|(canonical, set)| match set {
                Some(set) => set.lacking().cloned(),
                None => Some(Lacking {
                    what: "value set",
                    canonical: canonical.clone(),
                }),
            });
        let lacking = system.chain(of_sets).next();
        Clause {
            system: raw.system.clone(),
            codes,
            sets,
            lacking,
        }
    }
}

/// Returns the systems of the value set's codes, and whether there may be codes of other systems.
fn systems(composed: &Option<Composed>, expanded: &Option<Expanded>) -> (BTreeSet<String>, bool) {
    let (mut systems, mut open) = (BTreeSet::new(), composed.is_none() && expanded.is_none());
    for clause in composed.iter().flat_map(|composed| &composed.include) {
        systems.extend(clause.system.clone());
        for set in &clause.sets {
            match set {
                Some(set) if clause.system.is_none() => {
                    systems.extend(set.systems.iter().cloned());
                    open |= set.open;
                }
                Some(_) => {}
                None => open |= clause.system.is_none(),
            }
        }
    }
    if let Some(expanded) = expanded {
        systems.extend(expanded.codes.keys().cloned());
        open |= composed.is_none() && !expanded.complete;
    }
    (systems, open)
}

impl ValueSet {
    fn new(composed: Option<Composed>, expanded: Option<Expanded>) -> ValueSet {
        let (systems, open) = systems(&composed, &expanded);
        ValueSet {
            composed,
            expanded,
            systems,
            open,
        }
    }

    /// Whether the value set contains a code of a system. `None` if the loaded files do not decide.
    pub fn contains(&self, system: &str, code: &str) -> Option<bool> {
        let composed = self
            .composed
            .as_ref()
            .and_then(|composed| composed.contains(system, code));
        composed.or_else(|| self.expanded.as_ref()?.contains(system, code))
    }

    /// Whether the value set contains a code of any system. `None` if the loaded files do not decide.
    pub fn contains_code(&self, code: &str) -> Option<bool> {
        let in_systems = any(self.systems.iter().map(|system| self.contains(system, code)));
        in_systems.filter(|found| *found || !self.open)
    }

    /// Returns the first code system or value set that is needed to decide for every code, but is not loaded
    /// completely. `None` if nothing is missing.
    pub fn lacking(&self) -> Option<&Lacking> {
        if self.expanded.as_ref().is_some_and(|expanded| expanded.complete) {
            return None;
        }
        let composed = self.composed.iter();
        let mut clauses = composed.flat_map(|composed| composed.include.iter().chain(&composed.exclude));
        clauses.find_map(|clause| clause.lacking.as_ref())
    }

    /// Returns the system of the value set's codes. `None` if it has none, or may have codes of several systems.
    pub fn single_system(&self) -> Option<&str> {
        match (self.systems.len(), self.open) {
            (1, false) => self.systems.first().map(String::as_str),
            _ => None,
        }
    }
}

impl Composed {
    fn contains(&self, system: &str, code: &str) -> Option<bool> {
        let contains = |clause: &Clause| clause.contains(system, code);
        let included = any(self.include.iter().map(contains));
        if included == Some(false) {
            return included;
        }
        let excluded = any(self.exclude.iter().map(contains));
        all([included, excluded.map(|excluded| !excluded)])
    }
}

impl Clause {
    fn contains(&self, system: &str, code: &str) -> Option<bool> {
        let own = match &self.system {
            None if self.sets.is_empty() => Some(false),
            None => Some(true),
            Some(of) if of != system => Some(false),
            Some(_) => self.codes.contain(code),
        };
        let sets = self.sets.iter();
        let in_sets = sets.map(|set| set.as_ref().and_then(|set| set.contains(system, code)));
        all([own].into_iter().chain(in_sets))
    }
}

impl Codes {
    /// Whether all codes of the system are needed, but the system is not loaded completely.
    fn lack_system(&self) -> bool {
        match self {
            Codes::All(system) => system.as_ref().is_none_or(|system| !system.is_complete()),
            Codes::Filtered(filtered) => filtered.as_ref().is_none_or(|(system, _)| !system.is_complete()),
            Codes::Listed(..) => false,
        }
    }

    fn contain(&self, code: &str) -> Option<bool> {
        match self {
            Codes::All(system) => system.as_ref()?.contains(code),
            Codes::Listed(codes, system) => Some(codes.contains(&key(system.as_deref(), code))),
            Codes::Filtered(filtered) => {
                let (system, passing) = filtered.as_ref()?;
                match system.place(code) {
                    Some(place) => passing.passes(place),
                    None => system.contains(code),
                }
            }
        }
    }
}

fn key(system: Option<&CodeSystem>, code: &str) -> String {
    match system {
        Some(system) if system.same("a", "A") => code.to_lowercase(),
        _ => code.to_string(),
    }
}

impl Expanded {
    fn new(raw: &raw::Expansion) -> Expanded {
        let mut codes: FxHashMap<String, FxHashSet<String>> = FxHashMap::default();
        let mut waiting: Vec<&raw::Contains> = raw.contains.iter().collect();
        let mut count = 0u64;
        while let Some(contains) = waiting.pop() {
            count += 1;
            waiting.extend(&contains.contains);
            if let (Some(system), Some(code)) = (&contains.system, &contains.code)
                && contains.is_abstract != Some(true)
            {
                codes.entry(system.clone()).or_default().insert(code.clone());
            }
        }
        let partial = raw
            .extension
            .iter()
            .any(|extension| PARTIAL.contains(&extension.url.as_str()));
        let page = raw.offset.unwrap_or(0) > 0 || raw.total.is_some_and(|total| total > count);
        Expanded {
            codes,
            complete: !partial && !page,
        }
    }

    fn contains(&self, system: &str, code: &str) -> Option<bool> {
        if self.codes.get(system).is_some_and(|codes| codes.contains(code)) {
            Some(true)
        } else {
            self.complete.then_some(false)
        }
    }
}
