//! Finds the resources of a patient's record. The record has all resources in the compartments of some Patients, type
//! by type. After these members come resources of other types to which the members refer.
//!
//! This file decides which resources belong to a record, in which order, and where a page begins. `record::page` writes
//! the page. A record is a search over several types, so its pages work like those of any search. The resources after
//! the members are found by the references of members. These references are read only for a page that reaches beyond
//! the members.

use std::sync::Arc;

use super::super::SearchError;
use super::super::criteria::compartment;
use super::super::criteria::criterion::{Condition, Criterion, Test};
use super::super::criteria::matcher::Matcher;
use super::super::engine::Engine;
use super::super::includes::referred::Ids;
use super::super::joins::binding::Filed;
use super::super::paging::page_token::PagePosition;
use super::super::paging::position::Position;
use super::super::parameters::query::Query;
use super::super::parameters::raw::RawParameter;
use super::super::parameters::result::{MAX_COUNT, Total};
use super::super::run::parts::{MatchPosition, Part};
use super::page::{RecordPage, Shown};
use super::request::{Extent, Member, RecordRequest};
use crate::fhir::{TypeId, facts};
use crate::lake::Snapshot;
use crate::lake::scan::{Budget, ScopedTable};

/// The inputs from which the parts of a record are made.
struct Sources<'a> {
    request: &'a RecordRequest<'a>,
    snapshot: Arc<Snapshot>,
    filed: Filed,
    budget: &'a Arc<Budget>,
    /// Whether an erasure has happened since the request's link was made.
    erased_since: bool,
}

/// The parts of the record that are known so far. A part has the resources of one type. The parts of members come
/// first.
struct Parts {
    parts: Vec<Part>,
    places: Vec<usize>,
    /// The number of parts that have members.
    members: usize,
    /// Whether the parts for the targets of references were added already.
    complete: bool,
}

impl Engine {
    /// Finds a record and reads its beginning. Returns `None` if the scope shows none of the Patients. If this fails
    /// and records were erased meanwhile, it tries once more.
    pub async fn record(&self, request: &RecordRequest<'_>) -> Result<Option<RecordPage>, SearchError> {
        let erasures = self.lake().snapshot().erasures();
        match self.begin_record(request).await {
            Err(error) if self.lost(&error, erasures) => self.begin_record(request).await,
            done => done,
        }
    }

    async fn begin_record(&self, request: &RecordRequest<'_>) -> Result<Option<RecordPage>, SearchError> {
        let budget = self.budget(request.scope);
        let (mut lead, course) = self.lead(request, &budget)?;
        let sources = Sources {
            snapshot: self.snapshot(course.tag.as_ref())?,
            filed: Filed::of(self.lake(), &request.scope.application, request.patients),
            erased_since: lead.erased_since,
            budget: &budget,
            request,
        };
        if !self.shows_any(&sources)? {
            return Ok(None);
        }
        let mut parts = self.members(&sources)?;
        let start = lead.place;
        let counted = start.is_none() && lead.offset > 0;
        if counted || start.is_some_and(|start| start.part >= request.members.len()) {
            self.add_referred(&sources, &mut parts).await?;
        }
        lead.place = start.map(|start| parts.start(start)).transpose()?;
        course.check(&lead, &parts.parts.iter().map(|part| &part.table).collect::<Vec<_>>())?;
        let total = self.total(&lead, &course, &parts).await?;
        let (mut places, mut more) = if lead.counts_only() {
            (Vec::new(), false)
        } else {
            self.one_after_the_other(&parts.parts, &lead).await?
        };
        if !more && !lead.counts_only() && !parts.complete {
            self.add_referred(&sources, &mut parts).await?;
            let rest = Query {
                place: None,
                offset: 0,
                count: lead.count - places.len(),
                ..lead.clone()
            };
            let (found, further) = self.forward(&parts.parts, parts.members, 0, &rest).await?;
            places.extend(found);
            more = further;
        }
        let shown = if lead.is_backwards() {
            Shown::Entries(self.entries_at(&parts.parts, &places, true)?.into())
        } else {
            Shown::Places(places.iter().filter_map(MatchPosition::outer).collect())
        };
        let mut page = RecordPage::new(
            (self.lake(), self.signer()),
            request,
            (lead, course),
            (places.len(), more),
            total,
        );
        page.snapshot = sources.snapshot.id;
        page.show(shown, parts.parts, parts.places, parts.members);
        page.read_first()?;
        Ok(Some(page))
    }

    /// Returns a query with the parameters of the page, but without criteria, and the position of the request among the
    /// pages.
    fn lead(&self, request: &RecordRequest<'_>, budget: &Budget) -> Result<(Query, Position), SearchError> {
        let Some(patient) = facts().lookup("Patient") else {
            return Err(SearchError::Unanswered);
        };
        match request.extent {
            Extent::Whole => {
                let mut lead = Query::of_criteria(patient, Vec::new());
                // Without a limit, the page has all resources. No lake has more resources than this number.
                lead.count = u32::MAX as usize;
                let course = self.course(&lead, "", &[], request.scope)?;
                Ok((lead, course))
            }
            Extent::Page {
                path,
                parameters,
                repeated,
                handling,
            } => {
                let resolver = self.resolver(request.now, request.base, Some(budget));
                let mut lead = Query::resolve(&resolver, patient, parameters, handling)?;
                let is_count = |raw: &RawParameter| raw.name == "_count" && raw.counts(handling);
                if !parameters.iter().any(is_count) {
                    lead.count = MAX_COUNT;
                }
                let shaping = lead.understood.drain(..);
                let understood = repeated.iter().cloned().chain(shaping).collect();
                lead.understood = understood;
                let course = self.course(&lead, path, &lead.understood, request.scope)?;
                course.place(&mut lead)?;
                self.note(request.only, &mut lead);
                Ok((lead, course))
            }
        }
    }

    fn table_of(&self, sources: &Sources<'_>, type_id: TypeId) -> ScopedTable {
        self.table(&sources.snapshot, type_id, sources.request.scope, sources.budget)
    }

    /// Whether the scope shows at least one of the Patients.
    fn shows_any(&self, sources: &Sources<'_>) -> Result<bool, SearchError> {
        let Some(patient) = facts().lookup("Patient") else {
            return Ok(false);
        };
        let table = self.table_of(sources, patient);
        for id in sources.request.patients {
            if table.read(id)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the parts for the members, one for each type that the request shows and that has a table with files.
    fn members(&self, sources: &Sources<'_>) -> Result<Parts, SearchError> {
        let (mut parts, mut places) = (Vec::new(), Vec::new());
        for (place, member) in sources.request.members.iter().enumerate() {
            if sources.shows(member.type_id)
                && let Some(part) = self.member(sources, member, true)?
            {
                parts.push(part);
                places.push(place);
            }
        }
        Ok(Parts {
            members: parts.len(),
            parts,
            places,
            complete: false,
        })
    }

    /// Returns the part for the members of one type. Returns `None` if the table has no files. With `since`, the
    /// members must also meet the request's `since`.
    fn member(&self, sources: &Sources<'_>, member: &Member, since: bool) -> Result<Option<Part>, SearchError> {
        let request = sources.request;
        let table = self.table_of(sources, member.type_id);
        if !table.has_files() {
            return Ok(None);
        }
        let resolver = self.resolver(request.now, request.base, Some(sources.budget));
        let mut criteria = vec![compartment::of_any(&resolver, member.type_id, request.patients)?];
        let since = request.since.filter(|_| since);
        for parameter in member.parameters.iter().chain(since) {
            criteria.extend(resolver.criterion(member.type_id, parameter)?);
        }
        let query = Query {
            filed: Some(sources.filed.clone()),
            ..sources.query(member.type_id, criteria)
        };
        Ok(Some(Part::new(query, table)))
    }

    /// Returns the number of members, if the page states it.
    async fn total(&self, lead: &Query, course: &Position, parts: &Parts) -> Result<Option<usize>, SearchError> {
        if lead.total != Total::Accurate && !lead.counts_only() {
            return Ok(None);
        }
        if let Some(total) = course.total() {
            return Ok(Some(total));
        }
        let mut total = 0;
        for part in &parts.parts[..parts.members] {
            total += self.count(&part.table, &part.query).await?;
        }
        Ok(Some(total))
    }

    /// Adds the parts for the resources to which members refer. Follows the references of all members, also of those
    /// that the request does not show.
    async fn add_referred(&self, sources: &Sources<'_>, parts: &mut Parts) -> Result<(), SearchError> {
        parts.complete = true;
        let request = sources.request;
        if !request.referred.iter().any(|type_id| sources.shows(*type_id)) {
            return Ok(());
        }
        let all = self.referred_by_members(sources, false).await?;
        let by_shown = match request.since {
            Some(_) => Some(self.referred_by_members(sources, true).await?),
            None => None,
        };
        for (at, type_id) in request.referred.iter().enumerate() {
            let table = self.table_of(sources, *type_id);
            if !sources.shows(*type_id) || !table.has_files() {
                continue;
            }
            let Some(criterion) = self.is_referred(sources, *type_id, &all, by_shown.as_ref())? else {
                continue;
            };
            parts
                .parts
                .push(Part::new(sources.query(*type_id, vec![criterion]), table));
            parts.places.push(request.members.len() + at);
        }
        Ok(())
    }

    /// Returns the ids of the resources to which members refer, and of those to which these resources refer in turn.
    /// With `since`, follows only the references of members that meet the request's `since`.
    async fn referred_by_members(&self, sources: &Sources<'_>, since: bool) -> Result<Ids, SearchError> {
        let request = sources.request;
        let none = Ids::none_of(request.referred);
        let mut all = none.clone();
        let mut new = none.clone();
        for member in request.members {
            if let Some(part) = self.member(sources, member, since)? {
                let found = self.all_referred(&part.table, &part.query, &none).await?;
                new.merge(found);
            }
        }
        new = all.merge(new);
        while new.types().next().is_some() {
            let mut next = none.clone();
            for type_id in new.types() {
                let table = self.table_of(sources, type_id);
                if let Some(ids) = self.one_of(type_id, &new)?.filter(|_| table.has_files()) {
                    let query = Query::of_criteria(type_id, vec![ids]);
                    next.merge(self.all_referred(&table, &query, &none).await?);
                }
            }
            new = all.merge(next);
        }
        Ok(all)
    }

    /// Returns the condition that a resource of one type is a target of references: its id is in `all`. If the request
    /// has a `since`, the resource must also meet it, or its id must be in `by_shown`. Returns `None` if there are no
    /// targets.
    fn is_referred(
        &self,
        sources: &Sources<'_>,
        type_id: TypeId,
        all: &Ids,
        by_shown: Option<&Ids>,
    ) -> Result<Option<Criterion>, SearchError> {
        let Some(by_any) = self.one_of(type_id, all)? else {
            return Ok(None);
        };
        let Some((by_shown, since)) = by_shown.zip(sources.request.since) else {
            return Ok(Some(by_any));
        };
        let resolver = self.resolver(sources.request.now, sources.request.base, Some(sources.budget));
        let mut changed = vec![by_any];
        changed.extend(resolver.criterion(type_id, since)?);
        let either = |condition, label: &str| Criterion {
            condition,
            label: label.to_owned(),
            origin: None,
        };
        let mut either_of = vec![either(Condition::All(changed), "referred to, and changed since")];
        either_of.extend(self.one_of(type_id, by_shown)?);
        Ok(Some(either(Condition::Any(either_of), "referred to")))
    }

    /// Returns the condition that a resource of a type has one of these ids. Returns `None` if there are none.
    fn one_of(&self, type_id: TypeId, ids: &Ids) -> Result<Option<Criterion>, SearchError> {
        let mut of_type = ids.of(type_id).peekable();
        let Some(compiled) = self.ids_of(type_id)?.filter(|_| of_type.peek().is_some()) else {
            return Ok(None);
        };
        let test = Test::AnyOf {
            matchers: vec![Matcher::OneOf(Arc::new(of_type.collect()))],
            not: false,
        };
        Ok(Some(Criterion::of_values(compiled, test, "referred to".to_owned())))
    }
}

impl Sources<'_> {
    /// Returns the query of a part. If an erasure has happened, the query says so. A search by it then returns an error
    /// if the row at the page's position was erased.
    fn query(&self, type_id: TypeId, criteria: Vec<Criterion>) -> Query {
        Query {
            erased_since: self.erased_since,
            ..Query::of_criteria(type_id, criteria)
        }
    }

    fn shows(&self, type_id: TypeId) -> bool {
        self.request.only.is_none_or(|only| only.contains(&type_id))
    }
}

impl Parts {
    /// Converts a page's position from a page token. The token has the index of a type among all types of the record.
    /// The result has the index of this type's part in `parts`.
    fn start(&self, start: PagePosition) -> Result<PagePosition, SearchError> {
        let part = self.places.iter().position(|place| *place == start.part);
        // The type had rows when the link was made. It has no part now, so its rows have been erased.
        let part = part.ok_or(SearchError::Expired)?;
        Ok(PagePosition { part, ..start })
    }
}
