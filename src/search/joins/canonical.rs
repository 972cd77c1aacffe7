//! Resolves canonicals: finds the stored resources that have a URL and, if the canonical has one, a version.
//!
//! A canonical without a version leads to all stored resources of its URL. With a version, it leads to the resources of
//! exactly that version. With a fragment, it means a part of a resource and leads to no resource. Tables are read
//! through the caller's scope, as for any reference.

use arrow::array::{Array, AsArray, RecordBatch, StringArray};

use super::super::SearchError;
use super::super::criteria::canonicals::{Canonicals, have_urls};
use super::super::criteria::criterion::{Criterion, Test};
use super::super::criteria::matcher;
use super::super::criteria::matcher::Matcher;
use super::super::criteria::targets;
use super::super::engine::Engine;
use super::super::parameters::parameter::{Compiled, Reading};
use super::super::parameters::query::Query;
use super::super::run::explain::trace::Trace;
use crate::fhir::storage::{LeafSet, root_column};
use crate::lake::scan::ScopedTable;

impl Engine {
    /// Returns the URLs and versions of those rows of a table that meet these criteria. The caller must have answered
    /// all joins in the criteria.
    pub(in crate::search) async fn borne_by(
        &self,
        table: &ScopedTable,
        criteria: &[Criterion],
        trace: &Trace,
    ) -> Result<Canonicals, SearchError> {
        let mut borne = Canonicals::default();
        let query = Query::of_criteria(table.type_id(), criteria.to_vec()).traced(trace);
        let leaves = LeafSet::from(["url", "version"].map(|name| root_column(name).into_owned()));
        self.each_row(table, &query, leaves, |batch| {
            each_borne(batch, |_, url, version| borne.insert(url, version));
            borne.bounded()
        })
        .await?;
        Ok(borne)
    }

    /// Returns the canonicals that a parameter yields in those rows of a table that meet these criteria.
    pub(in crate::search) async fn asked_by(
        &self,
        table: &ScopedTable,
        through: &Compiled,
        criteria: &[Criterion],
        trace: &Trace,
    ) -> Result<Canonicals, SearchError> {
        let mut asked = Canonicals::default();
        let query = Query::of_criteria(table.type_id(), criteria.to_vec()).traced(trace);
        self.each_row(table, &query, through.program.leaves().clone(), |batch| {
            targets::each_canonical(through, batch, |canonical| asked.insert_asked(canonical))?;
            asked.bounded()
        })
        .await?;
        Ok(asked)
    }

    /// Returns the ids of those rows of a table to which the canonicals `asked` lead, in ascending order.
    pub(in crate::search) async fn named(
        &self,
        table: &ScopedTable,
        asked: &Canonicals,
        trace: &Trace,
    ) -> Result<Vec<String>, SearchError> {
        let mut ids = Vec::new();
        let urls = self.programs().get(table.type_id(), "url", Reading::Values)?;
        let Some(urls) = urls.filter(|_| !asked.is_empty() && have_urls(table.type_id())) else {
            return Ok(ids);
        };
        let mut matchers = asked.urls.keys().map(|url| Matcher::Uri(url.to_string())).collect();
        matcher::gather_values(&mut matchers);
        let test = Test::AnyOf { matchers, not: false };
        let of_urls = Criterion::of_values(urls, test, format!("of {} URLs", asked.urls.len()));
        let query = Query::of_criteria(table.type_id(), vec![of_urls]).traced(trace);
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

/// Calls `found` with the row, the URL and the version of each row that has a URL.
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
