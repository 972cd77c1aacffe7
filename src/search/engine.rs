//! Runs a search from parameters to page: resolves the query, chooses the way to run it, and fetches the page's rows
//! and includes.
//!
//! A page comes from one snapshot, and every row from the caller's scope.

use std::sync::Arc;

use bytes::Bytes;

use super::SearchError;
use super::bundle::answer::{Answer, Occasion};
use super::bundle::page::Entry;
use super::criteria::compartment;
use super::includes::include::Include;
use super::includes::included::{IncludeLimits, Included};
use super::joins::binding;
use super::joins::binding::{Bound, Filed};
use super::paging::page_token::PageToken;
use super::paging::position::Position;
use super::parameters::parameter::{Compiled, Programs, Reading};
use super::parameters::query::Query;
use super::parameters::raw::RawParameter;
use super::parameters::resolve::{Resolver, Surroundings};
use super::parameters::result::Total;
use super::run::contained::Which;
use super::run::matches::Found;
use super::run::parts::Part;
use super::run::population;
use super::run::sessions::Sessions;
use super::run::trace::Trace;
use super::run::{explain, person};
use crate::fhir::search_parameter::{SearchParameter, SearchParameters};
use crate::fhir::{TypeId, facts};
use crate::lake::scan::ScopedTable;
use crate::lake::{Lake, LakeError, Scope, Snapshot};
use crate::terminology::Terminology;

/// The maximum bytes of matching resources on a page. A page that reaches it ends there with a `next` link.
pub const MAX_PAGE_BYTES: usize = 16 << 20;

/// The value of `Prefer: handling=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handling {
    /// Ignores unknown parameters. The `self` link shows the understood ones.
    #[default]
    Lenient,
    /// Unknown parameters are errors.
    Strict,
}

/// A search request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The caller's scope.
    pub scope: &'a Arc<Scope>,
    /// The resource type searched.
    pub ty: TypeId,
    /// Only resources in the compartment of this Patient.
    pub compartment: Option<&'a str>,
    /// The parameters as the client sent them.
    pub parameters: &'a [RawParameter],
    /// How unknown parameters are handled.
    pub handling: Handling,
    /// The time, in microseconds since 1970.
    pub now: i64,
    /// `{base}/fhir/`, with the slash.
    pub base: &'a str,
}

/// A checked search and the table that it reads.
pub(super) struct Opened {
    pub(super) query: Query,
    pub(super) table: ScopedTable,
    pub(super) course: Position,
    /// The search's address without parameters.
    pub(super) address: String,
}

/// Runs searches over one lake. All requests share it.
#[derive(Debug)]
pub struct Engine {
    lake: Lake,
    programs: Programs,
    sessions: Sessions,
    pub(super) includes: IncludeLimits,
    terminology: Arc<Terminology>,
}

impl Engine {
    /// An engine over a lake with these search parameters.
    pub fn new(lake: Lake, parameters: Arc<SearchParameters>) -> Engine {
        Engine {
            lake,
            programs: Programs::new(parameters),
            sessions: Sessions::new(),
            includes: IncludeLimits::default(),
            terminology: Arc::default(),
        }
    }

    /// The same with code systems and value sets for `:in`, `:not-in`, `:below` and `:above`.
    pub fn with_terminology(self, terminology: Arc<Terminology>) -> Engine {
        Engine { terminology, ..self }
    }

    /// The same with other limits for included resources.
    pub fn with_include_limits(self, includes: IncludeLimits) -> Engine {
        Engine { includes, ..self }
    }

    /// The same, but every search is a plan that evaluates each criterion on each row of its scope. It ignores
    /// statistics, dictionaries and the people that a query names. Slow. Tests compare the other ways with it.
    pub fn without_shortcuts(self) -> Engine {
        Engine {
            sessions: self.sessions.without_pushdown(),
            ..self
        }
    }

    /// The search parameters that searches of `ty` accept.
    pub fn supported(&self, ty: TypeId) -> impl Iterator<Item = &Arc<SearchParameter>> {
        self.programs.supported(ty)
    }

    /// Runs a search and renders its page as a Bundle.
    pub async fn search(&self, request: &Request<'_>) -> Result<Bytes, SearchError> {
        let erasures = self.lake.snapshot().erasures();
        match self.search_traced(request, Trace::default()).await {
            Err(error) if self.lost(&error, erasures) => self.search_traced(request, Trace::default()).await,
            done => done,
        }
    }

    /// Whether a search failed because its rows were erased during the read.
    pub(super) fn lost(&self, error: &SearchError, erasures: u64) -> bool {
        (!error.is_input() || matches!(error, SearchError::Expired)) && self.lake.erased_since(erasures)
    }

    /// The same, with a trace.
    pub(super) async fn search_traced(&self, request: &Request<'_>, trace: Trace) -> Result<Bytes, SearchError> {
        let Opened {
            mut query,
            table,
            course,
            address,
        } = self.open(request)?;
        query.trace = trace.clone();
        let table = trace.watched(table);
        trace.lap("resolve", None);
        let types = [query.ty];
        let occasion = Occasion {
            base: request.base,
            address: &address,
            now: request.now,
            lake: &self.lake,
        };
        if query.contained.which != Which::Outer {
            let answer = Answer::new(occasion, &course, &types, &query, table.snapshot());
            return self.answer_parts(vec![Part::new(query.clone(), table)], answer).await;
        }
        query.joins = self.join(&table, &mut query.criteria).await?;
        self.note_joins(&table, &query);
        trace.lap("others", None);
        trace.part(|| explain::Part::of(&query, &table, &self.bound(&query, &table)));
        let mut answer = Answer::new(occasion, &course, &types, &query, table.snapshot());
        if query.counts_only() {
            answer.total = Some(self.count(&table, &query).await?);
            trace.lap("count", answer.total);
            return answer.render(&[], Included::nothing());
        }
        let mut found = self.matches(&table, &query).await?;
        trace.lap("match", Some(found.locators.len()));
        let matches = self.fetch(&table, &query, &mut found).await?;
        if query.is_backwards() {
            answer.left_out = found.locators.len() - matches.len();
        }
        trace.lap("fetch", Some(matches.len()));
        if query.total == Total::Accurate {
            answer.total = match found.total.or_else(|| course.total()) {
                Some(total) => Some(total),
                None => Some(self.count(&table, &query).await?),
            };
            trace.lap("count", answer.total);
        }
        answer.more = found.more;
        self.complete(&table, answer, matches, &query.includes).await
    }

    /// Checks a search and opens the table that it reads.
    pub(super) fn open(&self, request: &Request<'_>) -> Result<Opened, SearchError> {
        let mut query = self.resolve(request)?;
        let name = facts().get(query.ty).name;
        let path = match request.compartment {
            None => name.to_owned(),
            Some(patient) => format!("Patient/{patient}/{name}"),
        };
        let course = self.course(&query, &path, &query.understood, request.scope)?;
        course.place(&mut query)?;
        let snapshot = self.snapshot(course.tag.as_ref())?;
        let table = self.lake.table(&snapshot, request.ty, request.scope);
        course.check(&query, &[&table])?;
        Ok(Opened {
            query,
            table,
            course,
            address: format!("{}{path}", request.base),
        })
    }

    /// Renders a page with the includes of its matches. The page has fewer matches if their includes would exceed the
    /// limit.
    pub(super) async fn complete(
        &self,
        table: &ScopedTable,
        mut answer: Answer<'_>,
        mut matches: Vec<Entry>,
        includes: &[Include],
    ) -> Result<Bytes, SearchError> {
        let skip = answer.query.included;
        if skip > 0 {
            // The includes of one match continue here. The match itself was on an earlier page.
            answer.more |= matches.len() > 1;
            matches.truncate(1);
        }
        let trace = answer.query.trace.clone();
        let mut included = self.include(table, (includes, skip), &matches, &trace).await?;
        while included.is_full() && matches.len() > 1 {
            let surplus = matches.len() / 2;
            answer.shortened = true;
            if answer.query.is_backwards() {
                matches.drain(..surplus);
                answer.left_out += surplus;
            } else {
                matches.truncate(matches.len() - surplus);
                answer.more = true;
            }
            included = self.include(table, (includes, skip), &matches, &trace).await?;
        }
        if !includes.is_empty() {
            answer.query.trace.lap("include", Some(included.len()));
        }
        answer.render(&matches, included)
    }

    /// The matches of a page in one table.
    pub(super) async fn matches(&self, table: &ScopedTable, query: &Query) -> Result<Found, SearchError> {
        let bound = self.bound(query, table);
        match bound.person {
            Some(person) => person::search(table, query, person),
            None => population::page(&self.sessions, table, query, bound.owners).await,
        }
    }

    /// Notes the plans that answered conditions on other resources, if no other plan will show them.
    pub(super) fn note_joins(&self, table: &ScopedTable, query: &Query) {
        if query.trace.is_on() && self.bound(query, table).person.is_some() {
            let plans = query.joins.iter().flat_map(|on| &on.ids);
            plans.for_each(|plan| query.trace.plan(plan.as_ref()));
        }
    }

    /// The people whose rows a query can match.
    pub(super) fn bound(&self, query: &Query, table: &ScopedTable) -> Bound {
        match self.sessions.pushes_down() {
            true => binding::of(query, table, &self.lake),
            false => Bound::default(),
        }
    }

    /// How many matches there are in one table.
    pub(super) async fn count(&self, table: &ScopedTable, query: &Query) -> Result<usize, SearchError> {
        let bound = self.bound(query, table);
        match bound.person {
            Some(person) => Ok(person::search(table, query, person)?.total.unwrap_or_default()),
            None => population::count(&self.sessions, table, query, bound.owners).await,
        }
    }

    pub(super) fn resolver<'a>(&'a self, now: i64, base: &'a str) -> Resolver<'a> {
        Resolver::new(
            &self.programs,
            Surroundings {
                now_us: now,
                base,
                terminology: &self.terminology,
            },
        )
    }

    pub(super) fn resolve(&self, request: &Request<'_>) -> Result<Query, SearchError> {
        let resolver = self.resolver(request.now, request.base);
        let mut query = Query::resolve(&resolver, request.ty, request.parameters, request.handling)?;
        if let Some(patient) = request.compartment {
            query
                .criteria
                .push(compartment::criterion(&resolver, request.ty, patient)?);
            query.filed = Some(Filed::of(&self.lake, &request.scope.application, &[patient]));
        }
        Ok(query)
    }

    /// The parameter `_id` of a type.
    pub(super) fn ids_of(&self, ty: TypeId) -> Result<Option<Arc<Compiled>>, SearchError> {
        self.programs.get(ty, "_id", Reading::Values)
    }

    pub(super) fn programs(&self) -> &Programs {
        &self.programs
    }

    pub(super) fn lake(&self) -> &Lake {
        &self.lake
    }

    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The snapshot that a tag names. Without a tag, the newest one.
    pub(super) fn snapshot(&self, tag: Option<&PageToken>) -> Result<Arc<Snapshot>, SearchError> {
        match tag {
            None => Ok(self.lake.snapshot()),
            Some(tag) => self.lake.snapshot_at(tag.snapshot).map_err(|error| match error {
                LakeError::SnapshotGone { .. } => SearchError::Expired,
                other => SearchError::Lake(other),
            }),
        }
    }
}
