//! The resources that a page's matches bring along: targets of their references, and resources that refer to them.
//!
//! They come in an order that depends on the snapshot alone, so that a page that would bring more than one answer holds can be
//! gone on with where it stopped.

use std::sync::Arc;

use arrow::array::RecordBatch;
use rustc_hash::FxHashSet;

use super::criterion::{Criterion, Test};
use super::include::Include;
use super::matcher::{Matcher, Targets};
use super::page::Entry;
use super::query::Query;
use super::{SearchError, targets};
use crate::fhir::{TypeId, facts};
use crate::lake::json::Tape;
use crate::lake::scan::{Row, ScopedTable};
use crate::lake::shred::{Shredder, SystemValues};

/// How much one answer brings along; a page that would bring more is gone on with by its `next` link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncludeLimits {
    /// Resources.
    pub resources: usize,
    /// Bytes of them; a single resource may have more.
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

/// The most resources that refer to a page's matches by one parameter.
const MAX_REFERRING: usize = 1_000_000;

/// Resources brought along so far, each once and none of the matches.
#[derive(Debug)]
pub(super) struct Included {
    limits: IncludeLimits,
    seen: FxHashSet<(TypeId, String)>,
    /// How many have been given out by answers before this one.
    skip: usize,
    met: usize,
    entries: Vec<Entry>,
    bytes: usize,
    full: bool,
}

impl Included {
    /// For a page with these matches, of which so many have been given out before.
    pub(super) fn of_page(limits: IncludeLimits, matches: &[Entry], skip: usize) -> Included {
        Included {
            limits,
            seen: matches.iter().map(|entry| (entry.ty, entry.row.id.clone())).collect(),
            skip,
            met: 0,
            entries: Vec::new(),
            bytes: 0,
            full: false,
        }
    }

    /// For a page without matches.
    pub(super) fn nothing() -> Included {
        Included::of_page(IncludeLimits::default(), &[], 0)
    }

    /// Whether there are more than one answer holds.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// How many this answer brings along.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All of them, in the order they were found.
    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries
    }

    /// Whether a resource has been brought along or is a match.
    pub(super) fn has(&self, ty: TypeId, id: &str) -> bool {
        self.seen.contains(&(ty, id.to_owned()))
    }

    /// Brings a resource along; `false` where it is there already or there is no room for it.
    pub(super) fn add(&mut self, ty: TypeId, row: &Row) -> bool {
        if self.full || self.has(ty, &row.id) {
            return false;
        }
        if self.met >= self.skip {
            self.bytes += row.resource.len();
            let IncludeLimits { resources, bytes } = self.limits;
            if self.entries.len() >= resources.max(1) || self.bytes > bytes && !self.entries.is_empty() {
                self.full = true;
                return false;
            }
            self.entries.push(Entry::of(ty, row.clone()));
        }
        self.met += 1;
        self.seen.insert((ty, row.id.clone()));
        true
    }
}

/// Rows of one type whose references are followed.
pub(super) struct Sources<'a> {
    pub(super) ty: TypeId,
    pub(super) rows: &'a [Row],
    /// Their columns, made when first asked for.
    columns: Option<RecordBatch>,
}

impl Sources<'_> {
    pub(super) fn new(ty: TypeId, rows: &[Row]) -> Sources<'_> {
        Sources {
            ty,
            rows,
            columns: None,
        }
    }

    /// The relative references that an include's parameter yields for the rows, in order, as far as it follows them.
    pub(super) fn targets(&mut self, include: &Include) -> Result<Vec<(TypeId, String)>, SearchError> {
        let batch = match &self.columns {
            Some(batch) => batch,
            None => self.columns.insert(columns(self.ty, self.rows)?),
        };
        let mut found = Vec::new();
        targets::each(&include.compiled, batch, |ty, id| {
            let ty = facts()
                .lookup(ty)
                .filter(|ty| include.target.is_none_or(|only| only == *ty));
            found.extend(ty.map(|ty| (ty, id.to_owned())));
        })?;
        Ok(found)
    }
}

fn columns(ty: TypeId, rows: &[Row]) -> Result<RecordBatch, SearchError> {
    let mut shredder = Shredder::new(ty);
    let mut tape = Tape::new();
    for row in rows {
        let stored = |reason: String| SearchError::Stored(format!("{}/{}: {reason}", facts().get(ty).name, row.id));
        let root = tape.parse(&row.resource).map_err(|error| stored(error.to_string()))?;
        shredder
            .push(&SystemValues::outside(&row.id, ""), root)
            .map_err(|error| stored(error.to_string()))?;
    }
    shredder
        .finish()
        .map_err(|error| SearchError::Stored(error.to_string()))
}

/// What a reference leads to, as far as the scope shows it.
pub(super) fn target(table: &ScopedTable, ty: TypeId, id: &str) -> Result<Option<Row>, SearchError> {
    Ok(table.other(ty).read(id)?)
}

/// A query for the rows of the include's source type that refer to one of these rows of `ty`.
pub(super) fn referring_query(include: &Include, ty: TypeId, rows: &[Row]) -> Query {
    let targets = Targets {
        ty,
        ids: Arc::new(rows.iter().map(|row| &row.id).collect()),
    };
    let label = format!("{} refers to {} matches", include.compiled.parameter.code, rows.len());
    let test = Test::AnyOf {
        matchers: vec![Matcher::RefersTo(Arc::new(targets))],
        not: false,
    };
    let criterion = Criterion::of_values(include.compiled.clone(), test, label);
    Query {
        count: MAX_REFERRING,
        ..Query::of_criteria(include.source, vec![criterion])
    }
}
