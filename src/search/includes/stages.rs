//! Runs the includes of a page, one after the other.
//!
//! Each stage follows one include for resources of one type: the matches or, with `:iterate`, resources that earlier
//! stages included. For `_include`, the stage reads the targets of these resources' references by id. For
//! `_revinclude`, it runs a search for the resources that refer to these resources. A stage depends on earlier stages,
//! because no resource is included twice. As soon as the answer is full, the next stages include nothing.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::super::SearchError;
use super::super::bundle::fetch;
use super::super::bundle::page::Entry;
use super::super::engine::Engine;
use super::super::run::explain::trace::Trace;
use super::by_id::ById;
use super::include::Include;
use super::included::{self, Included, Source, Sources};
use crate::fhir::TypeId;
use crate::lake::scan::{Locator, PlacedRow, ScopedTable, Sought};
use crate::parallel::processors;
use crate::plan::{Pause, at_once};

/// The maximum number of resources that are read at a time. Large resources are read in smaller portions.
const STEP: usize = 2_000;
/// The minimum number of targets for which one more thread is used.
const WORTH_A_THREAD: usize = 256;

/// The work of one stage, in addition to that of its reads.
const PER_STAGE: u64 = 64;
/// The work of taking the references out of one resource.
const PER_SOURCE: u64 = 32;

/// Resources for which includes are followed, grouped by type.
type Followed = Vec<(TypeId, Vec<Source>)>;

impl Engine {
    /// Returns the resources that a page includes for its matches. The first `skip` of them are left out, because
    /// earlier answers had them. Includes with `:iterate` are also followed for included resources, until a round
    /// includes nothing new.
    pub(in crate::search) async fn include(
        &self,
        table: &ScopedTable,
        (includes, skip): (&[Include], usize),
        matches: &[Entry],
        trace: &Trace,
    ) -> Result<Included, SearchError> {
        let mut included = Included::of_page(self.includes, matches, skip);
        if includes.is_empty() {
            return Ok(included);
        }
        let iterates = includes.iter().any(|include| include.iterate);
        let mut followed = Followed::new();
        let sources = matches.iter().map(|entry| {
            let source = Source {
                row: entry.row.clone(),
                place: entry.place,
            };
            (entry.type_id, source)
        });
        merge(&mut followed, sources.collect());
        let mut pause = Pause::default();
        let mut round = 1;
        while !followed.is_empty() {
            let mut fresh = Followed::new();
            for (type_id, rows) in &followed {
                // The answer is full, so no further stage includes anything.
                if included.is_full() {
                    return Ok(included);
                }
                let now = includes.iter().filter(|include| round == 1 || include.iterate);
                table.spend(PER_SOURCE * rows.len() as u64)?;
                let mut sources = Sources::new(*type_id, rows, now.clone());
                for include in now {
                    pause.take().await;
                    let ran = trace.of_stage();
                    let found = self.follow(table, include, &mut sources, &mut included, &ran).await?;
                    if !sources.rows.is_empty() && include.follows(*type_id) {
                        trace.stage(ran, || include.stage(round, *type_id, sources.rows.len(), found.len()));
                    }
                    if iterates && !found.is_empty() {
                        merge(&mut fresh, found);
                    }
                }
            }
            round += 1;
            followed = fresh;
        }
        Ok(included)
    }

    /// Follows one include for `sources`, which have one type. Adds the found resources to `included`. Returns those
    /// that were not included before.
    async fn follow(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &mut Sources<'_>,
        included: &mut Included,
        ran: &Trace,
    ) -> Result<Vec<(TypeId, Source)>, SearchError> {
        let mut new = Vec::new();
        if sources.rows.is_empty() || included.is_full() || !include.follows(sources.type_id) {
            return Ok(new);
        }
        table.spend(PER_STAGE)?;
        if !include.reverse {
            let mut known = FxHashSet::default();
            let mut targets = sources.targets(include, &table.other(sources.type_id))?;
            targets.extend(self.named_by(table, include, sources, ran).await?);
            targets.retain(|(type_id, sought)| {
                !included.has(*type_id, &sought.id) && known.insert((*type_id, sought.id.clone()))
            });
            let mut left = targets.as_slice();
            let mut step = STEP;
            let mut pause = Pause::default();
            while !left.is_empty() && !included.is_full() {
                pause.take().await;
                let (now, later) = left.split_at(step.min(left.len()));
                // If the targets exceed `room()`, they are read in smaller portions. A single target is always read.
                let max_bytes = if step == 1 { usize::MAX } else { included.room() };
                let Some(rows) = self.targets_of(table, now, max_bytes, ran).await? else {
                    step = (step / 16).max(1);
                    continue;
                };
                for ((type_id, _), found) in now.iter().zip(rows) {
                    if let Some((place, row)) = found
                        && included.add(*type_id, &row)
                    {
                        let place = Some(place);
                        new.push((*type_id, Source { row, place }));
                    }
                }
                left = later;
            }
        } else {
            let table = table.other(include.source);
            if !table.has_files() {
                return Ok(new);
            }
            let found = self.referring(&table, include, sources, ran).await?;
            let mut left = found.as_slice();
            let mut pause = Pause::default();
            while !left.is_empty() && !included.is_full() {
                pause.take().await;
                let (now, rows) = fetch::some(&table, left, STEP, included.room()).await?;
                for (place, row) in left[..now].iter().zip(rows) {
                    if included.add(include.source, &row) {
                        let place = Some(*place);
                        new.push((include.source, Source { row, place }));
                    }
                }
                left = &left[now..];
            }
        }
        Ok(new)
    }

    /// Returns the types and ids of the resources to which the canonicals of `sources` lead. The include decides which
    /// canonicals.
    async fn named_by(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &mut Sources<'_>,
        ran: &Trace,
    ) -> Result<Vec<(TypeId, Sought)>, SearchError> {
        let mut named = Vec::new();
        let types: Vec<TypeId> = include.led_to_by_url().collect();
        if types.is_empty() {
            return Ok(named);
        }
        let asked = sources.canonicals(include, &table.other(sources.type_id))?;
        for type_id in types.into_iter().filter(|_| !asked.is_empty()) {
            let ids = self.named(&table.other(type_id), &asked, ran).await?;
            named.extend(ids.into_iter().map(|id| (type_id, Sought { id, owner: None })));
        }
        Ok(named)
    }

    /// Reads the targets of references, in the order of the references. A target that the scope does not show is
    /// `None`. Returns `None` if the targets together have more bytes than `max_bytes`.
    async fn targets_of(
        &self,
        table: &ScopedTable,
        targets: &[(TypeId, Sought)],
        max_bytes: usize,
        ran: &Trace,
    ) -> Result<Option<Vec<PlacedRow>>, SearchError> {
        let threads = if ran.is_on() { 1 } else { processors() };
        let parts = parts(targets, threads);
        let sought = |part: &[usize]| -> Vec<Sought> { part.iter().map(|at| targets[*at].1.clone()).collect() };
        let mut found = Vec::with_capacity(parts.len());
        if ran.is_on() {
            for (type_id, part) in &parts {
                let lookup = ById::answering(&table.other(*type_id), sought(part), max_bytes);
                found.push(self.look_up(lookup, ById::take, ran).await?);
            }
        } else {
            let read = parts.iter().map(|(type_id, part)| {
                let (table, sought) = (table.other(*type_id), sought(part));
                async move { table.read_all(&sought, max_bytes) }
            });
            for read in at_once(read).await.map_err(SearchError::of_thread)? {
                found.push(read?);
            }
        }
        let mut rows: Vec<PlacedRow> = vec![None; targets.len()];
        for ((_, part), found) in parts.iter().zip(found) {
            let Some(found) = found else { return Ok(None) };
            part.iter().zip(found).for_each(|(at, row)| rows[*at] = row);
        }
        Ok(Some(rows))
    }

    /// Finds the rows that refer to one of the `sources` by the include's parameter. These rows have the type
    /// `include.source`. Returns their locators.
    async fn referring(
        &self,
        table: &ScopedTable,
        include: &Include,
        sources: &Sources<'_>,
        ran: &Trace,
    ) -> Result<Vec<Locator>, SearchError> {
        let mut query = included::referring_query(include, sources.type_id, sources.rows)?;
        query.trace = ran.clone();
        let found = self.matches(table, &query).await?;
        if found.more {
            Err(SearchError::TooManyIncluded(query.count))
        } else {
            Ok(found.locators)
        }
    }
}

/// Splits targets into parts, which threads read at the same time. All targets of a part have one type. Returns the
/// type of each part, and the indices of its targets in `targets`.
fn parts(targets: &[(TypeId, Sought)], threads: usize) -> Vec<(TypeId, Vec<usize>)> {
    let mut by_type: BTreeMap<TypeId, Vec<usize>> = BTreeMap::default();
    for (at, (type_id, _)) in targets.iter().enumerate() {
        by_type.entry(*type_id).or_default().push(at);
    }
    let mut parts = Vec::new();
    for (type_id, mut places) in by_type {
        // Sort by owner, because rows of one owner lie together in the files. Each thread then reads targets of
        // neighbouring owners.
        places.sort_by_key(|at| targets[*at].1.owner);
        let size = places.len().div_ceil(threads).max(WORTH_A_THREAD);
        parts.extend(places.chunks(size).map(|part| (type_id, part.to_vec())));
    }
    parts
}

/// Adds each row of `found` to the group of its type in `fresh`.
fn merge(fresh: &mut Followed, found: Vec<(TypeId, Source)>) {
    for (type_id, row) in found {
        match fresh.iter_mut().find(|(known, _)| *known == type_id) {
            Some((_, rows)) => rows.push(row),
            None => fresh.push((type_id, vec![row])),
        }
    }
}
