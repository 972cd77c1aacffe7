//! A search from parameters to page: resolves the query, chooses the way to run it, fetches the page's rows and what they include.
//!
//! All of a page comes from one snapshot, and every row through the caller's scope.

use std::sync::Arc;

use bytes::Bytes;

use super::include::Include;
use super::included::{IncludeLimits, Included, Sources};
use super::links::Links;
use super::matches::Found;
use super::page::Page;
use super::parameter::{Compiled, Programs, Reading};
use super::population::{self, Sessions};
use super::query::Query;
use super::raw::RawParameter;
use super::resolve::{Resolver, Surroundings};
use super::result::Total;
use super::{SearchError, binding, compartment, included, person};
use crate::fhir::search_parameter::{SearchParameter, SearchParameters};
use crate::fhir::{TypeId, facts};
use crate::lake::scan::{Locator, Row, ScopedTable};
use crate::lake::{Lake, LakeError, Picture, Scope};

/// The most bytes of matching resources on a page; a page that meets it ends there, with a `next` link.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// The longest link to another page: what a POST said at length could not be asked for by GET.
const MAX_LINK_BYTES: usize = 8_000;

/// Rows that refer to a page's matches are fetched so many at a time.
const REFERRING_STEP: usize = 200;

/// Puts new rows to those of their type.
fn merge(fresh: &mut Vec<(TypeId, Vec<Row>)>, found: Vec<(TypeId, Row)>) {
    for (ty, row) in found {
        match fresh.iter_mut().find(|(known, _)| *known == ty) {
            Some((_, rows)) => rows.push(row),
            None => fresh.push((ty, vec![row])),
        }
    }
}

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
    /// Only what is in the compartment of this Patient.
    pub compartment: Option<&'a str>,
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
    includes: IncludeLimits,
}

impl Engine {
    /// An engine over a lake with these search parameters.
    pub fn new(lake: Lake, parameters: Arc<SearchParameters>) -> Engine {
        Engine {
            lake,
            programs: Programs::new(parameters),
            sessions: Sessions::new(),
            includes: IncludeLimits::default(),
        }
    }

    /// The same with other bounds on what an answer brings along.
    pub fn with_include_limits(self, includes: IncludeLimits) -> Engine {
        Engine { includes, ..self }
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
            let nothing = Included::of_page(self.includes, query.ty, &[], 0);
            return self.render(request, &query, &table, Found::counted(total), Vec::new(), nothing);
        }
        let mut found = match bound.person {
            Some(person) => person::search(&table, &query, person)?,
            None => population::page(&self.sessions, &table, &query, bound.owners.clone()).await?,
        };
        if query.total == Total::Accurate && found.total.is_none() {
            found.total = Some(self.count(&table, &query, &bound).await?);
        }
        let mut rows = self.fetch(&table, &mut found)?;
        if query.included > 0 {
            // What goes on here is what one match brings along; the match itself has been given out.
            found.more |= rows.len() > 1;
            rows.truncate(1);
        }
        let mut included = self.include(&table, &query, &rows).await?;
        while included.is_full() && rows.len() > 1 {
            rows.truncate(rows.len().div_ceil(2));
            found.more = true;
            included = self.include(&table, &query, &rows).await?;
        }
        self.render(request, &query, &table, found, rows, included)
    }

    pub(super) fn resolve(&self, request: &Request<'_>) -> Result<Query, SearchError> {
        let around = Surroundings {
            now_us: request.now,
            base: request.base,
        };
        let resolver = Resolver::new(&self.programs, around);
        let mut query = Query::resolve(&resolver, request.ty, request.parameters, request.handling)?;
        if let Some(patient) = request.compartment {
            query
                .criteria
                .push(compartment::criterion(&resolver, request.ty, patient)?);
        }
        Ok(query)
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

    /// What the matches bring along. Resources that are brought along are followed in turn by the includes that iterate.
    async fn include(&self, table: &ScopedTable, query: &Query, rows: &[Row]) -> Result<Included, SearchError> {
        let mut included = Included::of_page(self.includes, query.ty, rows, query.included);
        let iterates = query.includes.iter().any(|include| include.iterate);
        let mut followed = vec![(query.ty, rows.to_vec())];
        let mut first = true;
        while !followed.is_empty() {
            let mut fresh: Vec<(TypeId, Vec<Row>)> = Vec::new();
            for (ty, rows) in &followed {
                let mut sources = Sources::new(*ty, rows);
                for include in query.includes.iter().filter(|include| first || include.iterate) {
                    let found = self.follow(table, include, &mut sources, &mut included).await?;
                    if iterates && !found.is_empty() {
                        merge(&mut fresh, found);
                    }
                }
            }
            first = false;
            followed = fresh;
        }
        Ok(included)
    }

    /// Brings along what one include finds for rows of one type, and gives what is new.
    async fn follow(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &mut Sources<'_>,
        included: &mut Included,
    ) -> Result<Vec<(TypeId, Row)>, SearchError> {
        let mut new = Vec::new();
        if sources.rows.is_empty() || included.is_full() {
            return Ok(new);
        }
        if !include.reverse {
            if include.source != sources.ty {
                return Ok(new);
            }
            for (ty, id) in sources.targets(include)? {
                if included.has(ty, &id) {
                    continue;
                }
                if let Some(row) = included::target(table, ty, &id)?
                    && included.add(ty, &row)
                {
                    new.push((ty, row));
                }
            }
        } else if include.leads_to(sources.ty) {
            let table = table.other(include.source);
            let found = self.referring(&table, include, sources).await?;
            for places in found.chunks(REFERRING_STEP) {
                for row in table.resources(places)? {
                    if included.add(include.source, &row) {
                        new.push((include.source, row));
                    }
                }
                if included.is_full() {
                    break;
                }
            }
        }
        Ok(new)
    }

    /// Where the rows of an include's source type lie that refer to these rows.
    async fn referring(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &Sources<'_>,
    ) -> Result<Vec<Locator>, SearchError> {
        let query = included::referring_query(include, sources.ty, sources.rows);
        let bound = binding::of(&query, table, &self.lake);
        let found = match bound.person {
            Some(person) => person::search(table, &query, person)?,
            None => population::page(&self.sessions, table, &query, bound.owners).await?,
        };
        match found.more {
            true => Err(SearchError::TooManyIncluded(query.count)),
            false => Ok(found.locators),
        }
    }

    fn render(
        &self,
        request: &Request<'_>,
        query: &Query,
        table: &ScopedTable,
        found: Found,
        rows: Vec<Row>,
        included: Included,
    ) -> Result<Bytes, SearchError> {
        let name = facts().get(query.ty).name;
        let address = match request.compartment {
            None => format!("{}{name}", request.base),
            Some(patient) => format!("{}Patient/{patient}/{name}", request.base),
        };
        let links = Links {
            address: &address,
            parameters: &query.understood,
            count: query.count,
            offset: query.offset,
            matches: rows.len(),
            more: found.more,
            included: query.included,
            // The rest of what the matches bring along comes before further matches.
            more_included: included.is_full().then(|| query.included + included.len()),
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
            matches: if query.included > 0 { &[] } else { &rows },
            is_cut: included.is_full(),
            included: &included.finish(),
            subset: &query.subset,
        }
        .render())
    }
}
