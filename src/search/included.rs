//! The resources that a page's matches bring along: targets of their references, and resources that refer to them.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::SearchError;
use super::include::Include;
use super::matcher::{Matcher, Targets};
use super::page::Entry;
use super::query::{Criterion, Query, Test};
use super::result::Total;
use super::subset::Subset;
use crate::fhir::storage::{REFERENCE_ID, REFERENCE_TYPE};
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
        for (target, id) in targets(include, ty, rows)? {
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
fn targets(include: &Include, ty: TypeId, rows: &[Row]) -> Result<Vec<(TypeId, String)>, SearchError> {
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
    let compiled = &include.compiled;
    let values = compiled
        .program
        .evaluate(&batch)
        .map_err(|source| SearchError::Expression {
            parameter: compiled.parameter.code.to_string(),
            source,
        })?
        .lenient();
    let mut targets = Vec::new();
    for part in values.typed() {
        let (types, ids) = (part.items.child(REFERENCE_TYPE), part.items.child(REFERENCE_ID));
        for item in 0..part.items.len() {
            let (Some(ty), Some(id)) = (
                super::matcher::only_text(&types, item),
                super::matcher::only_text(&ids, item),
            ) else {
                continue;
            };
            targets.extend(facts().lookup(ty).map(|ty| (ty, id.to_owned())));
        }
    }
    Ok(targets)
}

/// A query for the rows of the include's source type that refer to one of these rows of `ty`.
pub(super) fn referring_query(include: &Include, ty: TypeId, rows: &[Row]) -> Query {
    let targets = Targets {
        ty,
        ids: rows.iter().map(|row| row.id.clone()).collect(),
    };
    let criterion = Criterion {
        label: format!("{} refers to {} matches", include.compiled.parameter.code, rows.len()),
        compiled: include.compiled.clone(),
        test: Test::AnyOf {
            matchers: vec![Matcher::RefersTo(Arc::new(targets))],
            not: false,
        },
    };
    Query {
        ty: include.source,
        criteria: vec![criterion],
        sort: Vec::new(),
        count: MAX_INCLUDED,
        offset: 0,
        total: Total::None,
        subset: Subset::default(),
        includes: Vec::new(),
        pin: None,
        understood: Vec::new(),
    }
}
