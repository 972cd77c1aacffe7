//! A code system's concepts: where they stand in its hierarchy and which properties they have.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::raw;

/// A code system as a file gives it.
#[derive(Debug)]
pub struct CodeSystem {
    url: String,
    version: Option<String>,
    case_sensitive: bool,
    /// Whether what is not in the file is not in the system.
    complete: bool,
    /// Whether the hierarchy says that a concept is a kind of those above it.
    subsuming: bool,
    concepts: Vec<Concept>,
    /// Places of concepts by code, in lower case where case does not matter.
    places: FxHashMap<String, u32>,
}

#[derive(Debug)]
pub(super) struct Concept {
    pub(super) code: String,
    pub(super) display: Option<String>,
    pub(super) parents: Vec<u32>,
    pub(super) children: Vec<u32>,
    /// By the code that the system knows the property by.
    pub(super) properties: Vec<(String, String)>,
}

/// How a property is told to be one of the hierarchy's, where its code does not tell.
const PARENT_URI: &str = "http://hl7.org/fhir/concept-properties#parent";
const CHILD_URI: &str = "http://hl7.org/fhir/concept-properties#child";

impl CodeSystem {
    pub(super) fn new(raw: raw::CodeSystem) -> CodeSystem {
        let mut system = CodeSystem {
            case_sensitive: raw.case_sensitive.unwrap_or(true),
            complete: raw.content.as_deref() == Some("complete"),
            subsuming: raw.hierarchy_meaning.as_deref().is_none_or(|meaning| meaning == "is-a"),
            url: raw.url,
            version: raw.version,
            concepts: Vec::new(),
            places: FxHashMap::default(),
        };
        system.gather(raw.concept);
        let named = |uri: &str, names: &[&str]| -> FxHashSet<String> {
            let by_uri = raw.property.iter().filter(|kind| kind.uri.as_deref() == Some(uri));
            let by_uri = by_uri.map(|kind| kind.code.clone());
            by_uri.chain(names.iter().map(|name| (*name).to_string())).collect()
        };
        system.link(
            &named(PARENT_URI, &["parent", "subsumedBy"]),
            &named(CHILD_URI, &["child"]),
        );
        system
    }

    /// Takes the concepts out of their nesting.
    fn gather(&mut self, concepts: Vec<raw::Concept>) {
        let mut waiting: Vec<(raw::Concept, Option<u32>)> =
            concepts.into_iter().map(|concept| (concept, None)).collect();
        while let Some((concept, parent)) = waiting.pop() {
            let properties = concept
                .property
                .iter()
                .filter_map(|property| Some((property.code.clone(), property.value()?)));
            let properties: Vec<(String, String)> = properties.collect();
            let key = self.key(&concept.code).into_owned();
            let place = *self.places.entry(key).or_insert(self.concepts.len() as u32);
            if place as usize == self.concepts.len() {
                self.concepts.push(Concept {
                    code: concept.code,
                    display: concept.display,
                    parents: Vec::new(),
                    children: Vec::new(),
                    properties,
                });
            }
            if let Some(parent) = parent {
                self.join(parent, place);
            }
            waiting.extend(concept.concept.into_iter().map(|child| (child, Some(place))));
        }
    }

    /// Adds what properties say of the hierarchy.
    fn link(&mut self, parent: &FxHashSet<String>, child: &FxHashSet<String>) {
        for place in 0..self.concepts.len() as u32 {
            let of = |kinds: &FxHashSet<String>| -> Vec<u32> {
                let properties = &self.concepts[place as usize].properties;
                let named = properties.iter().filter(|(code, _)| kinds.contains(code));
                named.filter_map(|(_, value)| self.place(value)).collect()
            };
            let (parents, children) = (of(parent), of(child));
            parents.into_iter().for_each(|parent| self.join(parent, place));
            children.into_iter().for_each(|child| self.join(place, child));
        }
    }

    fn join(&mut self, parent: u32, child: u32) {
        if parent != child && !self.concepts[child as usize].parents.contains(&parent) {
            self.concepts[child as usize].parents.push(parent);
            self.concepts[parent as usize].children.push(child);
        }
    }

    fn key<'a>(&self, code: &'a str) -> Cow<'a, str> {
        match self.case_sensitive {
            true => Cow::Borrowed(code),
            false => Cow::Owned(code.to_lowercase()),
        }
    }

    /// Its canonical URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its version.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Whether the code is one of the system's; `None` where the file holds a part of the system only.
    pub fn contains(&self, code: &str) -> Option<bool> {
        match self.place(code) {
            Some(_) => Some(true),
            None => self.complete.then_some(false),
        }
    }

    /// Whether `code` is `descendant` or an ancestor of it; `None` where the file does not tell.
    pub fn subsumes(&self, code: &str, descendant: &str) -> Option<bool> {
        if self.key(code) == self.key(descendant) {
            return Some(true);
        }
        let (Some(ancestor), Some(descendant)) = (self.place(code), self.place(descendant)) else {
            return None;
        };
        if self.subsuming && self.closure(descendant, |concept| &concept.parents).contains(&ancestor) {
            return Some(true);
        }
        self.complete.then_some(false)
    }

    pub(super) fn same(&self, one: &str, other: &str) -> bool {
        self.key(one) == self.key(other)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    pub(super) fn place(&self, code: &str) -> Option<u32> {
        self.places.get(self.key(code).as_ref()).copied()
    }

    pub(super) fn concepts(&self) -> &[Concept] {
        &self.concepts
    }

    /// A concept and all that are reached from it.
    pub(super) fn closure<'a>(&'a self, from: u32, next: impl Fn(&'a Concept) -> &'a [u32]) -> FxHashSet<u32> {
        let mut reached = FxHashSet::from_iter([from]);
        let mut waiting = vec![from];
        while let Some(place) = waiting.pop() {
            for further in next(&self.concepts[place as usize]) {
                if reached.insert(*further) {
                    waiting.push(*further);
                }
            }
        }
        reached
    }
}
