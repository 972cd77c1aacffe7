//! Resolves canonicals: from a URL with an optional version to the stored resources with that URL.
//!
//! A canonical without a version means all stored resources of its URL. With a version it means the resources of
//! exactly that version. With a fragment it means a part of a resource and resolves to none. Tables are read through
//! the caller's scope, as for any reference.

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::SearchError;
use super::super::criteria::criterion::{Criterion, Test};
use super::super::criteria::matcher;
use super::super::criteria::matcher::Matcher;
use super::super::criteria::targets;
use super::super::engine::Engine;
use super::super::includes::included::Source;
use super::super::parameters::parameter::{Compiled, Reading};
use super::super::parameters::query::Query;
use crate::columns::json::Tape;
use crate::fhir::reference::Canonical;
use crate::fhir::search_parameter::SearchParameters;
use crate::fhir::storage::{LeafSet, root_column};
use crate::fhir::{TypeId, facts};
use crate::lake::scan::ScopedTable;

/// The maximum number of different canonicals in one condition or include.
const MAX_CANONICALS: usize = 1_000_000;

/// Whether resources of a type have a URL that identifies them, with or without a version.
pub(in crate::search) fn have_urls(ty: TypeId) -> bool {
    let is = |element: &str, wanted: &str| {
        let child = facts().child(ty, element);
        child.is_some_and(|child| facts().get(child.ty).name == wanted)
    };
    // The `url` of a Device or its definition is a network address.
    is("url", "uri") && is("version", "string") && SearchParameters::builtin().get(ty, "url").is_some()
}

/// URLs with their versions, either of stored resources or of canonicals.
#[derive(Debug, Default)]
pub(in crate::search) struct Canonicals {
    urls: FxHashMap<Box<str>, FxHashSet<Option<Box<str>>>>,
    count: usize,
}

impl Canonicals {
    /// Adds the URL of a resource.
    pub(in crate::search) fn insert(&mut self, url: &str, version: Option<&str>) {
        let versions = match self.urls.get_mut(url) {
            Some(versions) => versions,
            None => self.urls.entry(url.into()).or_default(),
        };
        self.count += usize::from(versions.insert(version.map(Box::from)));
    }

    /// Adds the URL of a canonical.
    pub(in crate::search) fn insert_asked(&mut self, canonical: &str) {
        let canonical = Canonical::parse(canonical);
        if canonical.fragment.is_none() && !canonical.url.is_empty() {
            self.insert(canonical.url, canonical.version);
        }
    }

    /// Each URL with its versions.
    pub(in crate::search) fn iter(&self) -> impl Iterator<Item = (&str, Vec<Option<&str>>)> {
        let urls = self.urls.iter();
        urls.map(|(url, versions)| (&**url, versions.iter().map(Option::as_deref).collect()))
    }

    /// Whether there are no URLs.
    pub(in crate::search) fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// Whether a canonical leads to one of these resources.
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

    /// Whether one of these canonicals leads to a resource with this URL and version.
    fn ask(&self, url: &str, version: Option<&str>) -> bool {
        self.urls.get(url).is_some_and(|versions| {
            versions.contains(&None) || version.is_some_and(|version| versions.contains(&Some(version.into())))
        })
    }

    fn bounded(&self) -> Result<(), SearchError> {
        if self.count > MAX_CANONICALS {
            return Err(SearchError::TooManyJoined(MAX_CANONICALS));
        }
        Ok(())
    }
}

/// The URLs and versions of resources, from their JSON.
pub(in crate::search) fn borne(rows: &[Source]) -> Result<Canonicals, SearchError> {
    let mut borne = Canonicals::default();
    let mut tape = Tape::new();
    for Source { row, .. } in rows {
        let root = tape
            .parse(&row.resource)
            .map_err(|error| SearchError::Stored(format!("{}: {error}", row.id)))?;
        if let Some(url) = root.get_str("url") {
            borne.insert(&url, root.get_str("version").as_deref());
        }
    }
    Ok(borne)
}

impl Engine {
    /// The URLs of a table's rows that meet these criteria. The criteria have no unanswered joins.
    pub(in crate::search) async fn borne_by(
        &self,
        table: &ScopedTable,
        criteria: &[Criterion],
    ) -> Result<Canonicals, SearchError> {
        let mut borne = Canonicals::default();
        let query = Query::of_criteria(table.ty(), criteria.to_vec());
        let leaves = LeafSet::from(["url", "version"].map(|name| root_column(name).into_owned()));
        self.each_row(table, &query, leaves, |batch| {
            each_borne(batch, |_, url, version| borne.insert(url, version));
            borne.bounded()
        })
        .await?;
        Ok(borne)
    }

    /// The canonicals of a parameter in the rows of a table that meet criteria.
    pub(in crate::search) async fn asked_by(
        &self,
        table: &ScopedTable,
        through: &Compiled,
        criteria: &[Criterion],
    ) -> Result<Canonicals, SearchError> {
        let mut asked = Canonicals::default();
        let query = Query::of_criteria(table.ty(), criteria.to_vec());
        self.each_row(table, &query, through.program.leaves().clone(), |batch| {
            targets::each_canonical(through, batch, |canonical| asked.insert_asked(canonical))?;
            asked.bounded()
        })
        .await?;
        Ok(asked)
    }

    /// The ids of a table's rows to which canonicals lead, in order.
    pub(in crate::search) async fn named(
        &self,
        table: &ScopedTable,
        asked: &Canonicals,
    ) -> Result<Vec<String>, SearchError> {
        let mut ids = Vec::new();
        let urls = self.programs().get(table.ty(), "url", Reading::Values)?;
        let Some(urls) = urls.filter(|_| !asked.is_empty() && have_urls(table.ty())) else {
            return Ok(ids);
        };
        let mut matchers = asked.urls.keys().map(|url| Matcher::Uri(url.to_string())).collect();
        matcher::gather_values(&mut matchers);
        let test = Test::AnyOf { matchers, not: false };
        let of_urls = Criterion::of_values(urls, test, format!("of {} URLs", asked.urls.len()));
        let query = Query::of_criteria(table.ty(), vec![of_urls]);
        let leaves = LeafSet::from(["id", "url", "version"].map(|name| root_column(name).into_owned()));
        self.each_row(table, &query, leaves, |batch| {
            let named = texts(batch, "id");
            each_borne(batch, |row, url, version| {
                if asked.ask(url, version) {
                    ids.extend(named.map(|named| named.value(row).to_owned()));
                }
            });
            Ok(())
        })
        .await?;
        ids.sort_unstable();
        Ok(ids)
    }

    async fn each_row(
        &self,
        table: &ScopedTable,
        query: &Query,
        leaves: LeafSet,
        take: impl FnMut(&RecordBatch) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        if !table.has_files() {
            return Ok(());
        }
        self.rows(table, query, leaves, take).await
    }
}

/// Passes on row, URL and version of each row with a URL.
fn each_borne(batch: &RecordBatch, mut found: impl FnMut(usize, &str, Option<&str>)) {
    let (urls, versions) = (texts(batch, "url"), texts(batch, "version"));
    for (row, url) in urls.into_iter().flatten().enumerate() {
        let Some(url) = url else { continue };
        let version = versions.filter(|versions| versions.is_valid(row));
        let version = version.map(|versions| versions.value(row));
        found(row, url, version);
    }
}

fn texts<'b>(batch: &'b RecordBatch, name: &str) -> Option<&'b StringArray> {
    batch.column_by_name(&root_column(name))?.as_string_opt::<i32>()
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
