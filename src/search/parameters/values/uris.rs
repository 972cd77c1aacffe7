//! Sets of many URIs, canonicals and references. Each text of a resource is looked up in them.

use super::hashed::{SentMap, SentSet};
use super::{ReferenceValue, UriTree};
use crate::fhir::reference::Canonical;

type Texts = SentSet<String>;

/// A set of many URIs, each with its kind of comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct UriSet {
    exact: Texts,
    /// The URLs of canonicals that match with any version.
    any_version: Texts,
    /// The allowed versions by URL. A canonical of the URL must have one of them, or a version that extends one of
    /// them.
    versions: SentMap<String, Vec<String>>,
    below: Texts,
    longest_below: usize,
    /// The URIs of `:above`, in order.
    above: Vec<String>,
}

impl UriSet {
    /// Adds a URI that a text must equal.
    pub(crate) fn insert(&mut self, uri: String) {
        self.exact.insert(uri);
    }

    /// Returns the URIs in order. Returns `None` if the set has any other comparison than equality.
    pub(crate) fn texts(&self) -> Option<Vec<String>> {
        let others = self.any_version.len() + self.versions.len() + self.below.len() + self.above.len();
        let mut texts: Vec<String> = self.exact.iter().cloned().collect();
        texts.sort_unstable();
        (others == 0).then_some(texts)
    }

    /// Adds the URL of canonicals, with the version that they must have or extend. Without a version, any version
    /// matches.
    pub(crate) fn insert_versions(&mut self, url: String, version: Option<String>) {
        match version {
            None => {
                self.any_version.insert(url);
            }
            Some(version) => self.versions.entry(url).or_default().push(version),
        }
    }

    /// Adds a URI together with the URIs below it or, if `tree` was made by `UriTree::above`, above it.
    pub(crate) fn insert_tree(&mut self, tree: UriTree) {
        let (uri, below) = tree.into_parts();
        if below {
            self.longest_below = self.longest_below.max(uri.len());
            self.below.insert(uri);
        } else {
            let at = self.above.partition_point(|other| *other < uri);
            self.above.insert(at, uri);
        }
    }

    /// Whether `candidate` matches one of the URIs in the set. `is_version(version, from)` tells whether a version
    /// equals or extends `from`.
    pub(crate) fn hold(&self, candidate: &str, is_version: impl Fn(&str, &str) -> bool) -> bool {
        if self.exact.contains(candidate) || self.is_below(candidate) || self.is_above(candidate) {
            return true;
        }
        if self.any_version.is_empty() && self.versions.is_empty() {
            return false;
        }
        let Canonical { url, version, .. } = Canonical::parse(candidate);
        let of_version = |wanted: &Vec<String>| {
            let mut wanted = wanted.iter();
            version.is_some_and(|version| wanted.any(|wanted| is_version(version, wanted)))
        };
        self.any_version.contains(url) || self.versions.get(url).is_some_and(of_version)
    }

    fn is_below(&self, candidate: &str) -> bool {
        if self.below.is_empty() {
            return false;
        }
        let known = |short: &str| self.below.contains(short);
        let is_path = |short: &str| !short.starts_with("urn:");
        let ends = candidate.char_indices().take_while(|(at, _)| *at <= self.longest_below);
        let mut ends = ends.filter(|(_, c)| matches!(c, '/' | '?' | '#' | '|'));
        known(candidate)
            || ends.any(|(at, c)| {
                let (before, with) = (&candidate[..at], &candidate[..at + 1]);
                is_path(candidate) && (known(before) || c == '/' && known(with))
            })
    }

    fn is_above(&self, candidate: &str) -> bool {
        let begins = |text: &str| {
            let at = self.above.partition_point(|other| other.as_str() < text);
            self.above.get(at).is_some_and(|other| other.starts_with(text))
        };
        if self.above.is_empty() || !begins(candidate) {
            return false;
        }
        self.above
            .binary_search_by(|other| other.as_str().cmp(candidate))
            .is_ok()
            || !candidate.starts_with("urn:")
                && (candidate.ends_with('/')
                    || ['/', '?', '#', '|']
                        .iter()
                        .any(|mark| begins(&format!("{candidate}{mark}"))))
    }
}

/// A set of many references, which are compared by their text.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReferenceSet {
    exact: Texts,
    /// The URLs of canonicals that match with any version.
    urls: Texts,
}

impl ReferenceSet {
    /// Adds a reference. A relative reference is not compared by its text, so it is returned instead of added.
    pub(crate) fn insert(&mut self, value: ReferenceValue) -> Option<ReferenceValue> {
        let ReferenceValue::Text(text) = value else {
            return Some(value);
        };
        let canonical = Canonical::parse(&text);
        if canonical.version.is_none() && canonical.fragment.is_none() {
            self.urls.insert(text.clone());
        }
        self.exact.insert(text);
        None
    }

    /// Whether the set has a reference with this text.
    pub(crate) fn hold(&self, text: &str) -> bool {
        self.exact.contains(text)
    }

    /// Whether the set has this canonical, or has the canonical's URL without a version, which matches any version.
    pub(crate) fn hold_canonical(&self, text: &str) -> bool {
        self.hold(text) || self.urls.contains(Canonical::parse(text).url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URIS: [&str; 10] = [
        "http://a.org/x",
        "http://a.org/x/",
        "http://a.org/x/y",
        "http://a.org/xy",
        "http://a.org",
        "http://a.org/x?q#f",
        "urn:oid:1.2",
        "urn:oid:1.2.3",
        "http://a.org/x|1",
        "http://a.org/x#ä/z",
    ];

    #[test]
    fn sets_find_what_their_uris_find_one_by_one() {
        for chosen in 1..1 << URIS.len() {
            let some = || (0..URIS.len()).filter(|at| chosen & (1 << at) != 0).map(|at| URIS[at]);
            let trees: [Vec<UriTree>; 2] = [
                some().map(|uri| UriTree::below(uri.to_owned())).collect(),
                some().map(|uri| UriTree::above(uri.to_owned())).collect(),
            ];
            for trees in trees {
                let mut set = UriSet::default();
                trees.iter().for_each(|tree| set.insert_tree(tree.clone()));
                for candidate in URIS {
                    let expected = trees.iter().any(|tree| tree.holds(candidate));
                    assert_eq!(set.hold(candidate, |_, _| false), expected, "{candidate} {trees:?}");
                }
            }
            let mut set = ReferenceSet::default();
            let values: Vec<ReferenceValue> = some().map(|uri| ReferenceValue::Text(uri.to_owned())).collect();
            assert!(values.iter().all(|value| set.insert(value.clone()).is_none()));
            for candidate in URIS {
                let expected = values.iter().any(|value| value.is_text(candidate));
                assert_eq!(set.hold_canonical(candidate), expected, "{candidate} {values:?}");
            }
        }
    }
}
