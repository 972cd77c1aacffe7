//! The resources that a page's matches bring along: targets of their references, and resources that refer to them.

use std::sync::Arc;

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

/// The most resources that one page brings along. A page that would bring more is refused rather than cut.
pub(super) const MAX_INCLUDED: usize = 10_000;
/// The most bytes of them.
const MAX_INCLUDED_BYTES: usize = 64 << 20;

/// Resources brought along so far, each once and none of the matches.
#[derive(Debug, Default)]
pub(super) struct Included {
    seen: FxHashSet<(TypeId, String)>,
    entries: Vec<Entry>,
    bytes: usize,
}

impl Included {
    /// For a page with these matches.
    pub(super) fn of_page(ty: TypeId, rows: &[Row]) -> Included {
        Included {
            seen: rows.iter().map(|row| (ty, row.id.clone())).collect(),
            ..Included::default()
        }
    }

    /// Brings along rows of a type.
    pub(super) fn add_rows(&mut self, ty: TypeId, rows: Vec<Row>) -> Result<(), SearchError> {
        rows.into_iter().try_for_each(|row| self.add(ty, row))
    }

    /// Brings along what the references of the include's parameter in `rows` point to, as far as the scope shows it.
    pub(super) fn add_targets(
        &mut self,
        table: &ScopedTable,
        include: &Include,
        ty: TypeId,
        rows: &[Row],
    ) -> Result<(), SearchError> {
        for (target, id) in pointed(include, ty, rows)? {
            if include.target.is_some_and(|only| only != target) || self.seen.contains(&(target, id.clone())) {
                continue;
            }
            if let Some(row) = table.other(target).read(&id)? {
                self.add(target, row)?;
            }
        }
        Ok(())
    }

    /// All of them, in the order they were found.
    pub(super) fn finish(self) -> Vec<Entry> {
        self.entries
    }

    fn add(&mut self, ty: TypeId, row: Row) -> Result<(), SearchError> {
        if !self.seen.insert((ty, row.id.clone())) {
            return Ok(());
        }
        self.bytes += row.resource.len();
        if self.entries.len() == MAX_INCLUDED || self.bytes > MAX_INCLUDED_BYTES {
            return Err(SearchError::TooManyIncluded(MAX_INCLUDED));
        }
        self.entries.push(Entry { ty, row });
        Ok(())
    }
}

/// The relative references that the include's parameter yields for these rows, in order.
fn pointed(include: &Include, ty: TypeId, rows: &[Row]) -> Result<Vec<(TypeId, String)>, SearchError> {
    let mut shredder = Shredder::new(ty);
    let mut tape = Tape::new();
    for row in rows {
        let stored = |reason: String| SearchError::Stored(format!("{}/{}: {reason}", facts().get(ty).name, row.id));
        let root = tape.parse(&row.resource).map_err(|error| stored(error.to_string()))?;
        shredder
            .push(&SystemValues::outside(&row.id, ""), root)
            .map_err(|error| stored(error.to_string()))?;
    }
    let batch = shredder
        .finish()
        .map_err(|error| SearchError::Stored(error.to_string()))?;
    let mut found = Vec::new();
    targets::each(&include.compiled, &batch, |ty, id| {
        found.extend(facts().lookup(ty).map(|ty| (ty, id.to_owned())));
    })?;
    Ok(found)
}

/// A query for the rows of the include's source type that refer to one of these rows of `ty`.
pub(super) fn referring_query(include: &Include, ty: TypeId, rows: &[Row]) -> Query {
    let targets = Targets {
        ty,
        ids: rows.iter().map(|row| row.id.clone()).collect(),
    };
    let label = format!("{} refers to {} matches", include.compiled.parameter.code, rows.len());
    let test = Test::AnyOf {
        matchers: vec![Matcher::RefersTo(Arc::new(targets))],
        not: false,
    };
    let criterion = Criterion::of_values(include.compiled.clone(), test, label);
    Query {
        count: MAX_INCLUDED,
        ..Query::of_criteria(include.source, vec![criterion])
    }
}
