//! Sets of URLs with their versions. They decide whether a canonical leads to a resource.
//!
//! A canonical without a version leads to all stored resources of its URL. One with a version leads to the resources of
//! exactly that version. One with a fragment means a part of a resource and leads to no resource.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::SearchError;
use crate::fhir::reference::Canonical;
use crate::fhir::search_parameter::SearchParameters;
use crate::fhir::{TypeId, facts};

/// The maximum number of different canonicals that one condition or one include may follow to resources.
const MAX_CANONICALS: usize = 1_000_000;

/// Whether resources of a type are identified by a URL, either alone or with a version.
pub(in crate::search) fn have_urls(type_id: TypeId) -> bool {
    let is = |element: &str, wanted: &str| {
        let child = facts().child(type_id, element);
        child.is_some_and(|child| facts().get(child.type_id).name == wanted)
    };
    // Device and DeviceDefinition have a `url`, too. There it is a network address, which does not identify the
    // resource. The conditions on `version` and on the search parameter exclude both types.
    is("url", "uri") && is("version", "string") && SearchParameters::builtin().get(type_id, "url").is_some()
}

/// A set of URLs with their versions. It holds either the URLs of stored resources, for `lead`, or canonicals, for
/// `ask`.
#[derive(Debug, Default)]
pub(in crate::search) struct Canonicals {
    pub(in crate::search) urls: FxHashMap<Box<str>, FxHashSet<Option<Box<str>>>>,
    count: usize,
}

impl Canonicals {
    /// Adds a URL and a version to the set.
    pub(in crate::search) fn insert(&mut self, url: &str, version: Option<&str>) {
        let versions = match self.urls.get_mut(url) {
            Some(versions) => versions,
            None => self.urls.entry(url.into()).or_default(),
        };
        self.count += usize::from(versions.insert(version.map(Box::from)));
    }

    /// Adds a canonical to the set. A canonical that is empty or has a fragment is ignored, because it leads to no
    /// resource.
    pub(in crate::search) fn insert_asked(&mut self, canonical: &str) {
        let canonical = Canonical::parse(canonical);
        if canonical.fragment.is_none() && !canonical.url.is_empty() {
            self.insert(canonical.url, canonical.version);
        }
    }

    /// Returns each URL with its versions. `None` among the versions means the URL without a version.
    pub(in crate::search) fn iter(&self) -> impl Iterator<Item = (&str, Vec<Option<&str>>)> {
        let urls = self.urls.iter();
        urls.map(|(url, versions)| (&**url, versions.iter().map(Option::as_deref).collect()))
    }

    /// Whether the set is empty.
    pub(in crate::search) fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// Whether this canonical leads to a resource of the set. The set must hold the URLs of resources.
    pub(in crate::search) fn lead(&self, canonical: &str) -> bool {
        let canonical = Canonical::parse(canonical);
        canonical.fragment.is_none()
            && self
                .urls
                .get(canonical.url)
                .is_some_and(|versions| match canonical.version {
                    None => true,
                    Some(version) => versions.contains(&Some(version.into())),
                })
    }

    /// Whether a canonical of the set leads to the resource with this URL and version. The set must hold canonicals.
    pub(in crate::search) fn ask(&self, url: &str, version: Option<&str>) -> bool {
        self.urls.get(url).is_some_and(|versions| {
            versions.contains(&None) || version.is_some_and(|version| versions.contains(&Some(version.into())))
        })
    }

    pub(in crate::search) fn bounded(&self) -> Result<(), SearchError> {
        if self.count > MAX_CANONICALS {
            return Err(SearchError::TooManyJoined(MAX_CANONICALS));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_kept_to_and_none_means_all() {
        let mut stored = Canonicals::default();
        stored.insert("http://q", Some("1"));
        stored.insert("http://p", None);
        for (canonical, leads) in [
            ("http://q", true),
            ("http://q|1", true),
            ("http://q|1.0", false),
            ("http://q#part", false),
            ("http://p", true),
            ("http://p|1", false),
            ("http://other", false),
        ] {
            assert_eq!(stored.lead(canonical), leads, "{canonical}");
            let mut asked = Canonicals::default();
            asked.insert_asked(canonical);
            let asks = asked.ask("http://q", Some("1")) || asked.ask("http://p", None);
            assert_eq!(asks, leads, "{canonical}");
        }
    }

    #[test]
    fn types_that_are_known_by_urls() {
        let known = |name: &str| have_urls(facts().lookup(name).unwrap());
        assert!(known("Questionnaire") && known("ValueSet") && known("Contract"));
        assert!(!known("Device") && !known("DeviceDefinition") && !known("Patient") && !known("Subscription"));
    }
}
