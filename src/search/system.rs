//! Searches over several types at once: `GET /fhir?_type=A,B` (R4 search, 3.1.1.2).
//!
//! Parameters must be known to all of the types. Matches come type by type, or, sorted by `_id` or `_lastUpdated`, merged.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::answer::Answer;
use super::engine::{Engine, Handling};
use super::included::Included;
use super::matches::Found;
use super::page::Entry;
use super::query::{Query, SortKey, written};
use super::raw::RawParameter;
use super::resolve::{Resolver, resource_type};
use super::result::{Total, invalid};
use super::trace::Trace;
use super::{MAX_PAGE_BYTES, SearchError, explain};
use crate::fhir::{TypeId, facts};
use crate::lake::Scope;
use crate::lake::scan::{Locator, Row, ScopedTable};

/// How far into a sorted search over several types a page may lie: all that lies before it is read again.
const MAX_SORTED: usize = 10_000;
/// Rows of one type that are fetched at a time while types are merged.
const STEP: usize = 50;

/// A search over several types.
#[derive(Clone, Debug)]
pub struct SystemRequest<'a> {
    /// Who asks.
    pub scope: &'a Arc<Scope>,
    /// The parameters as they were sent, `_type` among them.
    pub parameters: &'a [RawParameter],
    /// What becomes of unknown ones.
    pub handling: Handling,
    /// The time, in microseconds since 1970.
    pub now: i64,
    /// `{base}/fhir/`, with the slash.
    pub base: &'a str,
}

/// The search in one of the types.
struct Part {
    query: Query,
    table: ScopedTable,
}

impl Engine {
    /// Carries out a search over the types that `_type` names, all types without it, and renders its page as a Bundle.
    pub async fn search_system(&self, request: &SystemRequest<'_>) -> Result<Bytes, SearchError> {
        self.search_system_traced(request, Trace::default()).await
    }

    /// The same, noting how it goes.
    pub(super) async fn search_system_traced(
        &self,
        request: &SystemRequest<'_>,
        trace: Trace,
    ) -> Result<Bytes, SearchError> {
        let (mut types, parameters) = types(request.parameters)?;
        let resolver = || self.resolver(request.now, request.base);
        if types.is_empty() {
            types = facts().resources().collect();
        }
        let types = with_narrative(&resolver(), types, &parameters);
        let parameters = common(&resolver, &types, &parameters, request.handling)?;
        let mut parts: Vec<Part> = Vec::with_capacity(types.len());
        // One for all parts: it counts the tables that their conditions lead to.
        let resolver = resolver().among_others();
        for ty in types {
            let other = parts.first().map(|first| first.table.other(ty));
            if other.as_ref().is_some_and(|table| !table.has_files()) {
                continue;
            }
            let mut query = Query::resolve(&resolver, ty, &parameters, Handling::Lenient)?;
            let table = match other {
                Some(table) => table,
                None => trace.watched(self.lake().table(&self.picture(&query)?, ty, request.scope)),
            };
            query.trace = trace.clone();
            self.settle(&table, &mut query.criteria).await?;
            trace.part(|| explain::Part::of(&query, &table, &self.bound(&query, &table)));
            parts.push(Part { query, table });
        }
        let Some(mut lead) = parts.first().map(|part| part.query.clone()) else {
            return Err(SearchError::Unanswered);
        };
        trace.lap("resolve", None);
        lead.understood = understood(request.parameters, &parts);
        let address = request.base.trim_end_matches('/');
        let mut answer = Answer {
            base: request.base,
            address,
            now: request.now,
            query: &lead,
            snapshot: parts[0].table.snapshot(),
            total: None,
            more: false,
        };
        if lead.counts_only() || lead.total == Total::Accurate {
            let mut total = 0;
            for part in &parts {
                total += self.count(&part.table, &part.query).await?;
            }
            answer.total = Some(total);
            trace.lap("count", answer.total);
        }
        if lead.counts_only() {
            return answer.render(&[], Included::nothing());
        }
        let matches = match lead.sort.is_empty() {
            true => self.one_after_the_other(&parts, &lead, &mut answer.more).await?,
            false => self.merged(&parts, &lead, &mut answer.more).await?,
        };
        trace.lap("match", Some(matches.len()));
        let includes: Vec<_> = parts
            .iter()
            .flat_map(|part| part.query.includes.iter().cloned())
            .collect();
        self.complete(&parts[0].table, answer, matches, &includes).await
    }

    async fn one_after_the_other(
        &self,
        parts: &[Part],
        lead: &Query,
        more: &mut bool,
    ) -> Result<Vec<Entry>, SearchError> {
        let (mut skip, mut entries, mut bytes) = (lead.offset, Vec::new(), 0);
        for part in parts {
            if skip > 0 {
                let here = self.count(&part.table, &part.query).await?;
                if skip >= here {
                    skip -= here;
                    continue;
                }
            }
            let left = lead.count - entries.len();
            let query = Query {
                offset: std::mem::take(&mut skip),
                // One more than there is room for says whether there are more.
                count: left.max(1),
                ..part.query.clone()
            };
            let mut found = self.matches(&part.table, &query).await?;
            if left == 0 {
                *more = !found.locators.is_empty();
            } else {
                let here = self.fetch(&part.table, &mut found)?;
                bytes += here.iter().map(|entry| entry.row.resource.len()).sum::<usize>();
                entries.extend(here);
                *more = found.more || bytes > MAX_PAGE_BYTES;
            }
            if *more {
                break;
            }
        }
        Ok(entries)
    }

    async fn merged(&self, parts: &[Part], lead: &Query, more: &mut bool) -> Result<Vec<Entry>, SearchError> {
        let keys = keys(&lead.sort)?;
        let end = lead.offset + lead.count;
        if end > MAX_SORTED {
            let expected = "within the first 10000 matches of a sorted search over several types";
            return Err(invalid("_offset", &lead.offset.to_string(), expected));
        }
        let mut cursors = Vec::with_capacity(parts.len());
        for part in parts {
            let query = Query {
                offset: 0,
                count: end + 1,
                ..part.query.clone()
            };
            cursors.push(Cursor::new(&part.table, self.matches(&part.table, &query).await?));
        }
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for place in 0..=end {
            let Some(entry) = least(&mut cursors, &keys)? else {
                break;
            };
            if place < lead.offset {
                continue;
            }
            bytes += entry.row.resource.len();
            if place == end || bytes > MAX_PAGE_BYTES && !entries.is_empty() {
                *more = true;
                break;
            }
            entries.push(entry);
        }
        Ok(entries)
    }
}

/// The parameters that links repeat: `_type`, and what one of the types has understood.
fn understood(parameters: &[RawParameter], parts: &[Part]) -> Vec<(String, String)> {
    let pairs = parameters
        .iter()
        .map(|parameter| (written(parameter), parameter.value.clone()));
    pairs
        .filter(|pair| pair.0 == "_type" || parts.iter().any(|part| part.query.understood.contains(pair)))
        .collect()
}

/// The types that `_type` names, those named by all if it is given several times, and the other parameters.
fn types(parameters: &[RawParameter]) -> Result<(Vec<TypeId>, Vec<RawParameter>), SearchError> {
    let mut types: Option<Vec<TypeId>> = None;
    for parameter in parameters.iter().filter(|parameter| parameter.name == "_type") {
        let named = parameter
            .value
            .split(',')
            .map(|name| resource_type(name).ok_or_else(|| invalid("_type", name, "a resource type of R4")));
        let mut named = named.collect::<Result<Vec<_>, _>>()?;
        if let Some(before) = types {
            named.retain(|ty| before.contains(ty));
            if named.is_empty() {
                return Err(invalid(
                    "_type",
                    &parameter.value,
                    "one of the types that _type names elsewhere",
                ));
            }
        }
        let mut once = Vec::with_capacity(named.len());
        for ty in named {
            if !once.contains(&ty) {
                once.push(ty);
            }
        }
        types = Some(once);
    }
    let rest = parameters.iter().filter(|parameter| parameter.name != "_type");
    Ok((types.unwrap_or_default(), rest.cloned().collect()))
}

/// The types that may have matches as far as `_text` is concerned: left out as unknown to Bundles and the like, which have no
/// narrative, it would let everything through.
fn with_narrative(resolver: &Resolver<'_>, types: Vec<TypeId>, parameters: &[RawParameter]) -> Vec<TypeId> {
    if parameters.iter().all(|parameter| parameter.name != "_text") {
        return types;
    }
    let narrated = types
        .iter()
        .copied()
        .filter(|ty| resolver.programs.has_words(*ty, "_text"));
    match narrated.collect::<Vec<_>>() {
        narrated if narrated.is_empty() => types,
        narrated => narrated,
    }
}

/// The parameters that all of the types know, each asked on its own.
fn common<'r>(
    resolver: &dyn Fn() -> Resolver<'r>,
    types: &[TypeId],
    parameters: &[RawParameter],
    handling: Handling,
) -> Result<Vec<RawParameter>, SearchError> {
    let mut common = Vec::with_capacity(parameters.len());
    'parameters: for parameter in parameters {
        let (mut fits, mut refused) = (false, None);
        for ty in types {
            let alone = Query::resolve(&resolver(), *ty, std::slice::from_ref(parameter), Handling::Strict);
            match alone {
                Ok(_) => fits = true,
                // The reference need not lead to all of the types: the others' resources do not match.
                Err(error @ SearchError::Value { .. }) if parameter.name == "_has" => refused = Some(error),
                // An include speaks of one type's references, and need not concern the others.
                Err(SearchError::Unknown { .. }) if matches!(&*parameter.name, "_include" | "_revinclude") => {}
                Err(SearchError::Unknown { .. }) if handling == Handling::Lenient => continue 'parameters,
                Err(error) => return Err(error),
            }
        }
        if let (Some(error), false) = (refused, fits) {
            return Err(error);
        }
        common.push(parameter.clone());
    }
    Ok(common)
}

/// A sort key that all types have.
#[derive(Clone, Copy)]
struct Key {
    by_time: bool,
    descending: bool,
}

fn keys(sort: &[SortKey]) -> Result<Vec<Key>, SearchError> {
    let key = |key: &SortKey| {
        let code = &*key.compiled.parameter.code;
        match code {
            "_id" | "_lastUpdated" => Ok(Key {
                by_time: code == "_lastUpdated",
                descending: key.descending,
            }),
            _ => Err(invalid(
                "_sort",
                code,
                "_id or _lastUpdated, by which several types can be sorted",
            )),
        }
    };
    sort.iter().map(key).collect()
}

/// A type's matches in order, fetched as they are needed.
struct Cursor<'p> {
    table: &'p ScopedTable,
    locators: VecDeque<Locator>,
    ready: VecDeque<Row>,
}

impl Cursor<'_> {
    fn new(table: &ScopedTable, found: Found) -> Cursor<'_> {
        Cursor {
            table,
            locators: found.locators.into(),
            ready: VecDeque::new(),
        }
    }

    fn peek(&mut self) -> Result<Option<&Row>, SearchError> {
        if self.ready.is_empty() && !self.locators.is_empty() {
            let places: Vec<Locator> = self.locators.drain(..self.locators.len().min(STEP)).collect();
            self.ready.extend(self.table.resources(&places)?);
        }
        Ok(self.ready.front())
    }
}

/// Takes the next entry of all types.
fn least(cursors: &mut [Cursor<'_>], keys: &[Key]) -> Result<Option<Entry>, SearchError> {
    let mut best: Option<usize> = None;
    for at in 0..cursors.len() {
        if cursors[at].peek()?.is_none() {
            continue;
        }
        let is_less = best.is_none_or(|best| {
            let (one, other) = (cursors[at].ready.front(), cursors[best].ready.front());
            one.zip(other)
                .is_some_and(|(one, other)| order(one, other, keys) == Ordering::Less)
        });
        if is_less {
            best = Some(at);
        }
    }
    let Some(best) = best else { return Ok(None) };
    let cursor = &mut cursors[best];
    Ok(cursor.ready.pop_front().map(|row| Entry {
        ty: cursor.table.ty(),
        row,
    }))
}

/// How two rows of different types are ordered; equal keys by id, and then by the order of the types.
fn order(one: &Row, other: &Row, keys: &[Key]) -> Ordering {
    let by_key = |key: &Key| {
        let order = match key.by_time {
            true => one.last_updated.cmp(&other.last_updated),
            false => one.id.cmp(&other.id),
        };
        if key.descending { order.reverse() } else { order }
    };
    let orders = keys.iter().map(by_key).chain([one.id.cmp(&other.id)]);
    orders
        .into_iter()
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}
