//! Runs a search of one type, from its parameters to its page: resolves the query, chooses how to run it, and fetches
//! the resources and includes of the page.
//!
//! All rows of a page come from one snapshot and from the caller's scope.

use std::sync::Arc;

use bytes::Bytes;

use super::super::SearchError;
use super::super::bundle::answer::{Answer, Occasion};
use super::super::bundle::page::Entry;
use super::super::criteria::compartment;
use super::super::engine::Engine;
use super::super::includes::include::Include;
use super::super::includes::included::Included;
use super::super::joins::binding;
use super::super::joins::binding::{Bound, Filed};
use super::super::paging::position::Position;
use super::super::parameters::contained::Which;
use super::super::parameters::query::Query;
use super::super::parameters::raw::{Handling, RawParameter};
use super::super::parameters::result::Total;
use super::explain::explanation;
use super::explain::trace::Trace;
use super::matches::Found;
use super::parts::Part;
use super::person_operator::PersonOutput;
use super::population;
use crate::fhir::{TypeId, facts};
use crate::lake::Scope;
use crate::lake::scan::{Budget, ScopedTable};

/// A search of one type.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The caller's scope.
    pub scope: &'a Arc<Scope>,
    /// The searched resource type.
    pub type_id: TypeId,
    /// The id of a Patient, if only resources in this Patient's compartment are searched.
    pub compartment: Option<&'a str>,
    /// The parameters as the client sent them.
    pub parameters: &'a [RawParameter],
    /// Whether unknown parameters are ignored or are an error.
    pub handling: Handling,
    /// The time of the request, in microseconds since 1970.
    pub now: i64,
    /// The address of the server's FHIR API, which ends with `/fhir/`.
    pub base: &'a str,
}

/// A checked search, and the table that it reads.
pub(in crate::search) struct Opened {
    pub(in crate::search) query: Query,
    pub(in crate::search) table: ScopedTable,
    pub(in crate::search) course: Position,
    /// The address of the search, without parameters.
    pub(in crate::search) address: String,
}

impl Engine {
    /// Runs a search and returns its page as a Bundle. If the search fails, and an erasure during the search may be the
    /// reason, runs it a second time.
    pub async fn search(&self, request: &Request<'_>) -> Result<Bytes, SearchError> {
        let erasures = self.lake().snapshot().erasures();
        match self.search_traced(request, Trace::default()).await {
            Err(error) if self.lost(&error, erasures) => self.search_traced(request, Trace::default()).await,
            done => done,
        }
    }

    /// Returns the only patient whose rows the search can return, according to its parameters. Returns `None` if it can
    /// return rows of several patients, or if the search is refused.
    pub fn only_patient(&self, request: &Request<'_>) -> Option<String> {
        let query = self.resolve(request, &self.budget(request.scope)).ok()?;
        binding::only_patient(query.type_id, &query.criteria)
    }

    /// Whether a search may have failed because its rows were erased while it ran. `erasures` is the epoch before the
    /// search.
    pub(in crate::search) fn lost(&self, error: &SearchError, erasures: u64) -> bool {
        (!error.is_input() || matches!(error, SearchError::Expired)) && self.lake().erased_since(erasures)
    }

    /// Runs a search and records its steps in a trace.
    pub(in crate::search) async fn search_traced(
        &self,
        request: &Request<'_>,
        trace: Trace,
    ) -> Result<Bytes, SearchError> {
        let Opened {
            mut query,
            table,
            course,
            address,
        } = self.open(request)?;
        query.trace = trace.clone();
        let table = trace.watched(table);
        trace.lap("resolve", None);
        let types = [query.type_id];
        let occasion = Occasion {
            base: request.base,
            address: &address,
            now: request.now,
            lake: self.lake(),
            signer: self.signer(),
        };
        if query.contained.which != Which::Outer {
            let answer = Answer::new(occasion, &course, &types, &query, table.snapshot());
            return self.answer_parts(vec![Part::new(query.clone(), table)], answer).await;
        }
        query.joins = self.join(&table, &mut query.criteria, &trace).await?;
        self.note_joins(&table, &query);
        trace.lap("others", None);
        trace.part(|| explanation::Part::of(&query, &table, &self.bound(&query, &table)));
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
    pub(in crate::search) fn open(&self, request: &Request<'_>) -> Result<Opened, SearchError> {
        let budget = self.budget(request.scope);
        let mut query = self.resolve(request, &budget)?;
        let name = facts().get(query.type_id).name;
        let path = match request.compartment {
            None => name.to_owned(),
            Some(patient) => format!("Patient/{patient}/{name}"),
        };
        let course = self.course(&query, &path, &query.understood, request.scope)?;
        course.place(&mut query)?;
        let types = [query.type_id];
        self.note(Some(&types), &mut query);
        let snapshot = self.snapshot(course.tag.as_ref())?;
        let table = self.table(&snapshot, request.type_id, request.scope, &budget);
        course.check(&query, &[&table])?;
        Ok(Opened {
            query,
            table,
            course,
            address: format!("{}{path}", request.base),
        })
    }

    /// Returns a page with the includes of its matches. If the includes exceed the limits, leaves out half of the
    /// matches, until the includes fit or one match is left.
    pub(in crate::search) async fn complete(
        &self,
        table: &ScopedTable,
        mut answer: Answer<'_>,
        mut matches: Vec<Entry>,
        includes: &[Include],
    ) -> Result<Bytes, SearchError> {
        let skip = answer.query.included;
        if skip > 0 {
            // An earlier page has shown the first match, but not all of its includes. This page shows further includes
            // of that match. So keep only this match, because its references are needed. The other matches come on a
            // later page.
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

    /// Returns the matches of a page in one table.
    pub(in crate::search) async fn matches(&self, table: &ScopedTable, query: &Query) -> Result<Found, SearchError> {
        let bound = self.bound(query, table);
        match bound.person {
            Some(person) => self.of_person(table, query, person, PersonOutput::Page).await?.page(),
            None => population::page(self.sessions(), table, query, bound.owners).await,
        }
    }

    /// Adds the plans that answered conditions on other resources to the trace. A search over one person's columns has
    /// no plan that would show them.
    pub(in crate::search) fn note_joins(&self, table: &ScopedTable, query: &Query) {
        if query.trace.is_on() && self.bound(query, table).person.is_some() {
            query.trace.sides(&query.joins);
        }
    }

    /// Returns the people whose rows a query can match. Without pushdown, the query is treated as a query over all
    /// people.
    pub(in crate::search) fn bound(&self, query: &Query, table: &ScopedTable) -> Bound {
        if self.sessions().pushes_down() {
            binding::of(query.type_id, &query.criteria, table, self.lake())
        } else {
            Bound::default()
        }
    }

    /// Returns the number of matches in one table.
    pub(in crate::search) async fn count(&self, table: &ScopedTable, query: &Query) -> Result<usize, SearchError> {
        let bound = self.bound(query, table);
        match bound.person {
            Some(person) => self.of_person(table, query, person, PersonOutput::Count).await?.count(),
            None => population::count(self.sessions(), table, query, bound.owners).await,
        }
    }

    pub(in crate::search) fn resolve(&self, request: &Request<'_>, budget: &Budget) -> Result<Query, SearchError> {
        let resolver = self.resolver(request.now, request.base, Some(budget));
        let mut query = Query::resolve(&resolver, request.type_id, request.parameters, request.handling)?;
        if let Some(patient) = request.compartment {
            query
                .criteria
                .push(compartment::criterion(&resolver, request.type_id, patient)?);
            query.filed = Some(Filed::of(self.lake(), &request.scope.application, &[patient]));
        }
        Ok(query)
    }
}
