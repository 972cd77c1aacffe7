//! The included resources of a page: targets of the matches' references, and resources that refer to the matches.
//!
//! The order of a page's included resources depends only on the snapshot. So if a match has more of them than one
//! answer holds, the next answer can continue where this answer stops.

use std::sync::Arc;

use arrow::array::RecordBatch;
use rustc_hash::FxHashSet;

use super::super::SearchError;
use super::super::bundle::page::Entry;
use super::super::criteria::canonicals::Canonicals;
use super::super::criteria::criterion::{Criterion, Test};
use super::super::criteria::matcher::{Matcher, Targets};
use super::super::criteria::targets;
use super::super::parameters::query::Query;
use super::include::Include;
use crate::columns::json::{Choice, Chosen, JsonError, Tape};
use crate::columns::shred::{Clip, Shredder, SystemValues};
use crate::fhir::storage::LeafSet;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::{Locator, Row, ScopedTable, Sought};

/// The limits of the included resources in one answer. If a page exceeds them, it shows fewer matches. If a single
/// match exceeds them, the `next` link leads to its further included resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncludeLimits {
    /// The maximum number of resources.
    pub resources: usize,
    /// The maximum bytes of resources. A single resource may exceed it.
    pub bytes: usize,
}

impl Default for IncludeLimits {
    fn default() -> IncludeLimits {
        IncludeLimits {
            resources: 10_000,
            bytes: 64 << 20,
        }
    }
}

/// The maximum number of resources that `_revinclude` may find for one parameter at a time. More are the error
/// `TooManyIncluded`.
const MAX_REFERRING: usize = 1_000_000;

/// The resources included so far, without duplicates and without the page's matches.
#[derive(Debug)]
pub(in crate::search) struct Included {
    limits: IncludeLimits,
    seen: FxHashSet<(TypeId, String)>,
    /// The number of included resources that earlier answers had for the page's first match.
    skip: usize,
    met: usize,
    entries: Vec<Entry>,
    bytes: usize,
    full: bool,
}

impl Included {
    /// Creates the included resources of a page with these matches, so far none. The first `skip` resources that are
    /// added will not be in the answer, because earlier answers had them.
    pub(in crate::search) fn of_page(limits: IncludeLimits, matches: &[Entry], skip: usize) -> Included {
        Included {
            limits,
            seen: matches
                .iter()
                .map(|entry| (entry.type_id, entry.row.id.clone()))
                .collect(),
            skip,
            met: 0,
            entries: Vec::new(),
            bytes: 0,
            full: false,
        }
    }

    /// Creates the included resources of a page without matches. There are none.
    pub(in crate::search) fn nothing() -> Included {
        Included::of_page(IncludeLimits::default(), &[], 0)
    }

    /// Whether the page has more included resources than one answer holds.
    pub(in crate::search) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the maximum bytes of resources to read at a time: the limit of the answer, but at least 1 MiB.
    pub(in crate::search) fn room(&self) -> usize {
        self.limits.bytes.max(1 << 20)
    }

    /// Returns the number of included resources in this answer.
    pub(in crate::search) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the included resources of this answer, in the order in which they were found.
    pub(in crate::search) fn finish(self) -> Vec<Entry> {
        self.entries
    }

    /// Whether a resource is a match of the page, or was [added](Self::add) before.
    pub(in crate::search) fn has(&self, type_id: TypeId, id: &str) -> bool {
        self.seen.contains(&(type_id, id.to_owned()))
    }

    /// Includes a resource. If an earlier answer had the resource, it is only counted, and the result is `true` as for
    /// a new one. Returns `false` if the resource is a match or was added before, or if the answer is full.
    pub(in crate::search) fn add(&mut self, type_id: TypeId, row: &Row) -> bool {
        if self.full || self.has(type_id, &row.id) {
            return false;
        }
        if self.met >= self.skip {
            self.bytes += row.resource.len();
            let IncludeLimits { resources, bytes } = self.limits;
            if self.entries.len() >= resources.max(1) || self.bytes > bytes && !self.entries.is_empty() {
                self.full = true;
                return false;
            }
            self.entries.push(Entry::of(type_id, row.clone()));
        }
        self.met += 1;
        self.seen.insert((type_id, row.id.clone()));
        true
    }
}

/// A resource whose references are followed, or to which references are followed.
#[derive(Debug)]
pub(in crate::search) struct Source {
    pub(in crate::search) row: Row,
    /// The locator of the row, if known.
    pub(in crate::search) place: Option<Locator>,
}

/// The resources of one type for which includes are followed in one round. For `_include`, their references are
/// followed. For `_revinclude`, the references to them are followed.
pub(in crate::search) struct Sources<'a> {
    pub(in crate::search) type_id: TypeId,
    pub(in crate::search) rows: &'a [Source],
    /// The leaves that the `_include`s of this round read.
    leaves: LeafSet,
    /// The columns of `leaves`, and the owners of the rows. `None` until their first use, which computes them.
    columns: Option<Columns>,
}

/// The columns of some resources, and the owner of each resource if known.
type Columns = (RecordBatch, Vec<Option<i64>>);

impl<'a> Sources<'a> {
    pub(in crate::search) fn new<'i>(
        type_id: TypeId,
        rows: &'a [Source],
        includes: impl Iterator<Item = &'i Include>,
    ) -> Sources<'a> {
        let includes = includes.filter(|include| !include.reverse && include.source == type_id);
        Sources {
            type_id,
            rows,
            leaves: includes
                .flat_map(|include| include.compiled.program.leaves().iter().cloned())
                .collect(),
            columns: None,
        }
    }

    /// Returns the targets of the relative references that an include's parameter yields for the rows, in order.
    /// References to other types than those of the include are left out. Each target gets the owner of the referring
    /// row as its probable owner, because a person's records usually refer to records of the same person.
    pub(in crate::search) fn targets(
        &mut self,
        include: &Include,
        table: &ScopedTable,
    ) -> Result<Vec<(TypeId, Sought)>, SearchError> {
        let mut found = Vec::new();
        let Some((batch, owners)) = self.columns(table)? else {
            return Ok(found);
        };
        targets::each_by_row(&include.compiled, batch, |row, resource_type, id| {
            let type_id = facts()
                .lookup(resource_type)
                .filter(|type_id| include.target.is_none_or(|only| only == *type_id));
            let sought = |type_id| {
                let (id, owner) = (id.to_owned(), owners.get(row).copied().flatten());
                (type_id, Sought { id, owner })
            };
            found.extend(type_id.map(sought));
        })?;
        Ok(found)
    }
}

impl Sources<'_> {
    /// Returns the canonicals that an include's parameter yields for the rows.
    pub(in crate::search) fn canonicals(
        &mut self,
        include: &Include,
        table: &ScopedTable,
    ) -> Result<Canonicals, SearchError> {
        let mut asked = Canonicals::default();
        if let Some((batch, _)) = self.columns(table)? {
            targets::each_canonical(&include.compiled, batch, |canonical| asked.insert_asked(canonical))?;
        }
        Ok(asked)
    }

    fn columns(&mut self, table: &ScopedTable) -> Result<Option<&Columns>, SearchError> {
        if self.columns.is_none() {
            let owners = owners(table, self.rows)?;
            self.columns = Some((columns(self.type_id, self.rows, &self.leaves)?, owners));
        }
        Ok(self.columns.as_ref())
    }
}

/// Returns the owners of resources. A resource without a known locator has none.
fn owners(table: &ScopedTable, rows: &[Source]) -> Result<Vec<Option<i64>>, SearchError> {
    let places: Vec<Locator> = rows.iter().filter_map(|source| source.place).collect();
    let mut owners = table.owners(&places)?.into_iter();
    Ok(rows
        .iter()
        .map(|source| source.place.and_then(|_| owners.next()))
        .collect())
}

/// Returns the columns of these leaves, shredded from the resources' JSON.
fn columns(type_id: TypeId, rows: &[Source], leaves: &LeafSet) -> Result<RecordBatch, SearchError> {
    let name = facts().get(type_id).name;
    let clip = Clip::new(type_id, leaves);
    let mut choice = Choice::new("resourceType", [(name, clip.selection().clone())]);
    let mut shredder = Shredder::clipped(&clip);
    let (mut tape, mut whole) = (Tape::new(), Tape::new());
    for Source { row, .. } in rows {
        let stored = |reason: String| SearchError::Stored(format!("{name}/{}: {reason}", row.id));
        let unread = |error: JsonError| stored(error.to_string());
        let root = match tape.choose(&row.resource, &mut choice).map_err(unread)? {
            Chosen::Selected(_, root) => root,
            _ => whole.parse(&row.resource).map_err(unread)?,
        };
        shredder
            .push(&SystemValues::outside(&row.id, ""), root)
            .map_err(|error| stored(error.to_string()))?;
    }
    shredder
        .finish()
        .map_err(|error| SearchError::Stored(error.to_string()))
}

/// Returns a query for the rows of `include.source` that refer to one of `rows`. All of `rows` have the type `type_id`.
pub(in crate::search) fn referring_query(
    include: &Include,
    type_id: TypeId,
    rows: &[Source],
) -> Result<Query, SearchError> {
    let targets = Targets {
        type_id,
        ids: Arc::new(rows.iter().map(|source| &source.row.id).collect()),
    };
    let label = format!("{} refers to {} matches", include.compiled.parameter.code, rows.len());
    let mut matchers = vec![Matcher::RefersTo(Arc::new(targets))];
    if include.compiled.leads_by_url(type_id) {
        matchers.push(Matcher::Canonicals(Arc::new(borne(rows)?)));
    }
    let test = Test::AnyOf { matchers, not: false };
    let criterion = Criterion::of_values(include.compiled.clone(), test, label);
    Ok(Query {
        count: MAX_REFERRING,
        ..Query::of_criteria(include.source, vec![criterion])
    })
}

/// Returns the URLs and versions of resources, from their JSON.
fn borne(rows: &[Source]) -> Result<Canonicals, SearchError> {
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
