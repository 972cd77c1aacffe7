//! A search from parameters to page: resolves the query, chooses the way to run it, fetches the page's rows and what they include.
//!
//! All of a page comes from one snapshot, and every row through the caller's scope.

use std::sync::Arc;

use bytes::Bytes;

use super::include::Include;
use super::links::Links;
use super::matches::Found;
use super::page::{Entry, Page};
use super::parameter::{Compiled, Programs, Reading};
use super::population::{self, Sessions};
use super::query::Query;
use super::raw::RawParameter;
use super::resolve::Surroundings;
use super::result::Total;
use super::{SearchError, binding, included, person};
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchParameters};
use crate::lake::scan::{Row, ScopedTable};
use crate::lake::{Lake, LakeError, Picture, Scope};

/// The most bytes of matching resources on a page; a page that meets it ends there, with a `next` link.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// The longest link to another page: what a POST said at length could not be asked for by GET.
const MAX_LINK_BYTES: usize = 8_000;

/// What `Prefer: handling=` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handling {
    /// Unknown parameters are left out; the `self` link shows which were understood.
    #[default]
    Lenient,
    /// Unknown parameters are errors.
    Strict,
}

/// A search to carry out.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Who asks.
    pub scope: &'a Arc<Scope>,
    /// The resource type searched.
    pub ty: TypeId,
    /// The parameters as they were sent.
    pub parameters: &'a [RawParameter],
    /// What becomes of unknown ones.
    pub handling: Handling,
    /// The time, in microseconds since 1970.
    pub now: i64,
    /// `{base}/fhir/`, with the slash.
    pub base: &'a str,
}

/// Carries out searches over one lake. Shared by all requests.
#[derive(Debug)]
pub struct Engine {
    lake: Lake,
    programs: Programs,
    sessions: Sessions,
}

impl Engine {
    /// An engine over a lake with these search parameters.
    pub fn new(lake: Lake, parameters: Arc<SearchParameters>) -> Engine {
        Engine {
            lake,
            programs: Programs::new(parameters),
            sessions: Sessions::new(),
        }
    }

    /// The search parameters that searches of `ty` accept.
    pub fn supported(&self, ty: TypeId) -> impl Iterator<Item = &Arc<SearchParameter>> {
        self.programs.supported(ty)
    }

    /// Carries out a search and renders its page as a Bundle.
    pub async fn search(&self, request: &Request<'_>) -> Result<Bytes, SearchError> {
        let mut query = self.resolve(request)?;
        let table = self.table(&query, request)?;
        self.settle(&table, &mut query.criteria).await?;
        let bound = binding::of(&query, &table, &self.lake);
        if query.counts_only() {
            let total = self.count(&table, &query, &bound).await?;
            return self.render(request, &query, &table, Found::counted(total), Vec::new(), Vec::new());
        }
        let mut found = match bound.person {
            Some(person) => person::search(&table, &query, person)?,
            None => population::page(&self.sessions, &table, &query, bound.owners.clone()).await?,
        };
        if query.total == Total::Accurate && found.total.is_none() {
            found.total = Some(self.count(&table, &query, &bound).await?);
        }
        let rows = self.fetch(&table, &mut found)?;
        let included = self.include(&table, &query, &rows).await?;
        self.render(request, &query, &table, found, rows, included)
    }

    pub(super) fn resolve(&self, request: &Request<'_>) -> Result<Query, SearchError> {
        let around = Surroundings {
            now_us: request.now,
            base: request.base,
        };
        Query::resolve(&self.programs, request.ty, request.parameters, request.handling, around)
    }

    /// The table that the query searches, in the snapshot that it names or else the newest.
    pub(super) fn table(&self, query: &Query, request: &Request<'_>) -> Result<ScopedTable, SearchError> {
        Ok(self.lake.table(&self.picture(query)?, request.ty, request.scope))
    }

    /// The parameter `_id` of a type.
    pub(super) fn ids_of(&self, ty: TypeId) -> Result<Option<Arc<Compiled>>, SearchError> {
        self.programs.get(ty, "_id", Reading::Values)
    }

    pub(super) fn lake(&self) -> &Lake {
        &self.lake
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    fn picture(&self, query: &Query) -> Result<Arc<Picture>, SearchError> {
        match query.pin {
            None => Ok(self.lake.picture()),
            Some(pin) => self.lake.picture_at(pin.0).map_err(|error| match error {
                LakeError::SnapshotGone { .. } => SearchError::Expired,
                other => SearchError::Lake(other),
            }),
        }
    }

    async fn count(&self, table: &ScopedTable, query: &Query, bound: &binding::Bound) -> Result<usize, SearchError> {
        match bound.person {
            Some(person) => Ok(person::search(table, query, person)?.total.unwrap_or_default()),
            None => population::count(&self.sessions, table, query, bound.owners.clone()).await,
        }
    }

    /// The rows of a page, cut where it meets [`MAX_PAGE_BYTES`].
    fn fetch(&self, table: &ScopedTable, found: &mut Found) -> Result<Vec<Row>, SearchError> {
        const STEP: usize = 100;
        let mut rows: Vec<Row> = Vec::with_capacity(found.locators.len());
        let mut bytes = 0;
        for places in found.locators.chunks(STEP) {
            for row in table.resources(places)? {
                bytes += row.resource.len();
                if bytes > MAX_PAGE_BYTES && !rows.is_empty() {
                    found.more = true;
                    return Ok(rows);
                }
                rows.push(row);
            }
        }
        Ok(rows)
    }

    async fn include(&self, table: &ScopedTable, query: &Query, rows: &[Row]) -> Result<Vec<Entry>, SearchError> {
        let mut included = included::Included::of_page(query.ty, rows);
        for include in &query.includes {
            if include.reverse {
                let found = self.reverse(table, include, query.ty, rows).await?;
                included.add_rows(include.source, found)?;
            } else {
                included.add_targets(table, include, query.ty, rows)?;
            }
        }
        Ok(included.finish())
    }

    /// The rows of an include's source type that refer to the page's rows.
    async fn reverse(
        &self,
        table: &ScopedTable,
        include: &Include,
        ty: TypeId,
        rows: &[Row],
    ) -> Result<Vec<Row>, SearchError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let sources = table.other(include.source);
        let query = included::referring_query(include, ty, rows);
        let bound = binding::of(&query, &sources, &self.lake);
        let found = match bound.person {
            Some(person) => person::search(&sources, &query, person)?,
            None => population::page(&self.sessions, &sources, &query, bound.owners).await?,
        };
        if found.more {
            return Err(SearchError::TooManyIncluded(included::MAX_INCLUDED));
        }
        Ok(sources.resources(&found.locators)?)
    }

    fn render(
        &self,
        request: &Request<'_>,
        query: &Query,
        table: &ScopedTable,
        found: Found,
        rows: Vec<Row>,
        included: Vec<Entry>,
    ) -> Result<Bytes, SearchError> {
        let address = format!("{}{}", request.base, crate::fhir::facts().get(query.ty).name);
        let links = Links {
            address: &address,
            parameters: &query.understood,
            count: query.count,
            offset: query.offset,
            matches: rows.len(),
            more: found.more,
            snapshot: table.snapshot(),
            pinned: query.pin.is_some(),
        };
        let links = links.list();
        let longest = links
            .iter()
            .filter(|(relation, _)| matches!(*relation, "next" | "previous"));
        if let Some(length) = longest
            .map(|(_, url)| url.len())
            .max()
            .filter(|length| *length > MAX_LINK_BYTES)
        {
            return Err(SearchError::LongLinks(length));
        }
        let wants_total = query.counts_only() || query.total == Total::Accurate;
        Ok(Page {
            base: request.base,
            ty: query.ty,
            now: request.now,
            total: found.total.filter(|_| wants_total),
            links,
            matches: &rows,
            included: &included,
            subset: &query.subset,
        }
        .render())
    }
}
