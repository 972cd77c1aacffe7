//! The concepts of a code system in columns, with their hierarchy and their properties.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hasher};

use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashSet};
use serde::{Deserialize, Serialize};

use super::super::codes::ndc::Ndcs;
use super::links::Links;
use super::properties::Properties;
use super::texts::Texts;

/// Metadata of a code system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::terminology) struct Head {
    pub(in crate::terminology) url: String,
    pub(in crate::terminology) version: Option<String>,
    pub(in crate::terminology) case_sensitive: bool,
    /// Whether all codes of the system are loaded. If so, a missing code is certainly not in the system.
    pub(in crate::terminology) complete: bool,
    /// Whether a concept is a kind of the concepts above it in the hierarchy. If not, the hierarchy has another
    /// meaning, such as `part-of`.
    pub(in crate::terminology) subsuming: bool,
}

impl Head {
    /// Returns the metadata of a complete, case-sensitive system. In its hierarchy, a concept is a kind of the concepts
    /// above it.
    pub(in crate::terminology) fn complete(url: &str, version: Option<String>) -> Head {
        Head {
            url: url.to_string(),
            version,
            case_sensitive: true,
            complete: true,
            subsuming: true,
        }
    }

    /// Returns the metadata of a system that has only some of its codes.
    pub(in crate::terminology) fn partial(url: &str, version: Option<String>) -> Head {
        Head {
            complete: false,
            ..Head::complete(url, version)
        }
    }
}

/// The numbers of displays, parents, properties and NDCs of a code system. A load compares them with the numbers of the
/// stored system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The number of concepts with a display.
    pub displays: u64,
    /// The number of pairs of a concept and one of its direct parents.
    pub parents: u64,
    /// The number of values of properties.
    pub properties: u64,
    /// The number of National Drug Codes.
    pub ndcs: u64,
}

/// A code system. Codes, displays and properties are in columns, in the order of the codes. A concept's index is its
/// position in this order. A hash table of 4-byte indexes finds the index of a code.
#[derive(Debug)]
pub struct CodeSystem {
    head: Head,
    codes: Texts,
    /// The displays. The text of a concept without a display is empty.
    displays: Texts,
    index: CodeIndex,
    parents: Links,
    children: Links,
    properties: Properties,
    ndcs: Ndcs,
}

impl CodeSystem {
    pub(in crate::terminology) fn new(
        head: Head,
        codes: Texts,
        displays: Texts,
        parents: Links,
        properties: Properties,
        ndcs: Ndcs,
    ) -> CodeSystem {
        CodeSystem {
            index: CodeIndex::new(&codes, head.case_sensitive),
            children: parents.turned(codes.len()),
            head,
            codes,
            displays,
            parents,
            properties,
            ndcs,
        }
    }

    /// Returns the same system with this hierarchy.
    pub(in crate::terminology) fn with_parents(self, parents: Links) -> CodeSystem {
        CodeSystem {
            children: parents.turned(self.codes.len()),
            parents,
            ..self
        }
    }

    /// Returns the canonical URL.
    pub fn url(&self) -> &str {
        &self.head.url
    }

    /// Returns the version.
    pub fn version(&self) -> Option<&str> {
        self.head.version.as_deref()
    }

    /// Returns the number of concepts.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether the system has no concepts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the code belongs to the system. `None` if it is not found and only a part of the system is loaded.
    pub fn contains(&self, code: &str) -> Option<bool> {
        match self.place(code) {
            Some(_) => Some(true),
            None => self.head.complete.then_some(false),
        }
    }

    /// Returns the display of a code. `None` if the code is missing or has no display.
    pub fn display(&self, code: &str) -> Option<&str> {
        self.display_at(self.place(code)?)
    }

    /// Returns the codes directly above a code.
    pub fn parents(&self, code: &str) -> Vec<&str> {
        let place = self.place(code);
        let parents = place.map_or(&[][..], |place| self.parents_of(place));
        parents.iter().map(|parent| self.code(*parent)).collect()
    }

    /// Returns the name and value of each property of a code.
    pub fn properties(&self, code: &str) -> Vec<(&str, &str)> {
        let place = self.place(code);
        place.map_or_else(Vec::new, |place| self.properties.of(place).collect())
    }

    /// Whether `code` is `descendant` or an ancestor of `descendant`. `None` if the system does not decide.
    pub fn subsumes(&self, code: &str, descendant: &str) -> Option<bool> {
        if self.same(code, descendant) {
            return Some(true);
        }
        let (Some(ancestor), Some(descendant)) = (self.place(code), self.place(descendant)) else {
            return None;
        };
        if self.head.subsuming
            && self
                .closure(descendant, |place| self.parents_of(place))
                .contains(&ancestor)
        {
            return Some(true);
        }
        self.head.complete.then_some(false)
    }

    /// Returns the number of bytes in memory.
    pub fn size(&self) -> usize {
        let links = self.parents.size() + self.children.size();
        let texts = self.codes.size() + self.displays.size();
        texts + links + self.index.size() + self.properties.size() + self.ndcs.size()
    }

    /// Returns the numbers of displays, parents, properties and NDCs.
    pub fn contents(&self) -> Contents {
        let displays = self.displays.iter().filter(|display| !display.is_empty());
        Contents {
            displays: displays.count() as u64,
            parents: self.parents.len() as u64,
            properties: self.properties.len() as u64,
            ndcs: self.ndcs.len() as u64,
        }
    }

    pub(in crate::terminology) fn head(&self) -> &Head {
        &self.head
    }

    pub(in crate::terminology) fn same(&self, one: &str, other: &str) -> bool {
        same(self.head.case_sensitive, one, other)
    }

    pub(in crate::terminology) fn is_complete(&self) -> bool {
        self.head.complete
    }

    pub(in crate::terminology) fn place(&self, code: &str) -> Option<u32> {
        self.index.find(&self.codes, self.head.case_sensitive, code)
    }

    pub(in crate::terminology) fn code(&self, place: u32) -> &str {
        self.codes.get(place)
    }

    pub(in crate::terminology) fn display_at(&self, place: u32) -> Option<&str> {
        Some(self.displays.get(place)).filter(|display| !display.is_empty())
    }

    pub(in crate::terminology) fn parents_of(&self, place: u32) -> &[u32] {
        self.parents.of(place)
    }

    pub(in crate::terminology) fn children_of(&self, place: u32) -> &[u32] {
        self.children.of(place)
    }

    pub(in crate::terminology) fn values(&self, place: u32, property: &str) -> Vec<&str> {
        self.properties.values(place, property).collect()
    }

    pub(in crate::terminology) fn columns(&self) -> (&Links, &Properties, &Ndcs) {
        (&self.parents, &self.properties, &self.ndcs)
    }

    /// Returns a concept and all concepts to which `next` leads from it, directly or through others.
    pub(in crate::terminology) fn closure<'a>(&self, from: u32, next: impl Fn(u32) -> &'a [u32]) -> FxHashSet<u32> {
        let mut reached = FxHashSet::from_iter([from]);
        let mut waiting = vec![from];
        while let Some(place) = waiting.pop() {
            for further in next(place) {
                if reached.insert(*further) {
                    waiting.push(*further);
                }
            }
        }
        reached
    }
}

/// The index of each concept, by its code.
#[derive(Debug, Default)]
pub(in crate::terminology) struct CodeIndex(HashTable<u32>);

impl CodeIndex {
    fn new(codes: &Texts, case_sensitive: bool) -> CodeIndex {
        let mut index = CodeIndex(HashTable::with_capacity(codes.len()));
        for place in 0..codes.len() as u32 {
            index.insert(codes, case_sensitive, place);
        }
        index
    }

    pub(in crate::terminology) fn insert(&mut self, codes: &Texts, case_sensitive: bool, place: u32) {
        let hash = |place: &u32| hash(case_sensitive, codes.get(*place));
        self.0.insert_unique(hash(&place), place, hash);
    }

    pub(in crate::terminology) fn find(&self, codes: &Texts, case_sensitive: bool, code: &str) -> Option<u32> {
        let hash = hash(case_sensitive, code);
        let found = self.0.find(hash, |place| same(case_sensitive, codes.get(*place), code));
        found.copied()
    }

    fn size(&self) -> usize {
        self.0.allocation_size()
    }
}

fn hash(case_sensitive: bool, code: &str) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    hasher.write(folded(case_sensitive, code).as_bytes());
    hasher.finish()
}

fn same(case_sensitive: bool, one: &str, other: &str) -> bool {
    one == other || !case_sensitive && folded(false, one) == folded(false, other)
}

fn folded(case_sensitive: bool, code: &str) -> Cow<'_, str> {
    if case_sensitive {
        Cow::Borrowed(code)
    } else {
        Cow::Owned(code.to_lowercase())
    }
}
