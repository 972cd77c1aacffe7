//! Several searches that make one page: searches of several types (`_type`), and searches of contained resources in
//! addition to other resources.
//!
//! Without `_sort`, the matches of one part (one type) follow those of another, and within a part contained resources
//! come last. With `_sort`, the matches of all parts are merged. Then every page has to find all earlier matches again.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashSet;

use super::super::bundle::answer::Answer;
use super::super::bundle::page::Entry;
use super::super::criteria::criterion::Criterion;
use super::super::engine::Engine;
use super::super::includes::included::Included;
use super::super::paging::page_token::Side;
use super::super::parameters::contained::Which;
use super::super::parameters::query::Query;
use super::super::parameters::result::{Total, invalid};
use super::super::{MAX_PAGE_BYTES, SearchError};
use super::contained::{self, Inner};
use super::explain::explanation;
use super::merge::{Keyed, Order};
use super::person_operator::PersonOutput;
use super::population;
use crate::lake::scan::{Locator, ScopedTable};

/// If matches of several parts are merged, a page must end within this number of matches.
const MAX_SORTED: usize = 200_000;
/// The number of matches whose resources are read in one step.
const STEP: usize = 100;

/// The search in one type.
pub(in crate::search) struct Part {
    pub(in crate::search) query: Query,
    pub(in crate::search) table: ScopedTable,
    /// The criteria for contained resources. Empty if contained resources are not searched.
    criteria: Vec<Criterion>,
    /// The contained resources that match. `look_inside` finds them.
    inner: Vec<Inner>,
}

/// The position of a match: the index of its part, and its locator. A contained resource has, instead of a locator, its
/// index in the part's `inner`.
#[derive(Clone, Copy, Debug)]
pub(in crate::search) enum MatchPosition {
    Outer(usize, Locator),
    Inner(usize, usize),
}

impl MatchPosition {
    /// Returns the part and the locator. Returns `None` for a contained resource.
    pub(in crate::search) fn outer(&self) -> Option<(usize, Locator)> {
        match self {
            MatchPosition::Outer(part, row) => Some((*part, *row)),
            MatchPosition::Inner(..) => None,
        }
    }
}

impl Part {
    /// Creates a part whose conditions on other resources are not answered yet.
    pub(in crate::search) fn new(query: Query, table: ScopedTable) -> Part {
        Part {
            criteria: match query.contained.which {
                Which::Outer => Vec::new(),
                Which::Inner | Which::Both => contained::criteria(&query.criteria),
            },
            query,
            table,
            inner: Vec::new(),
        }
    }

    fn has_outer(&self) -> bool {
        self.query.contained.which != Which::Inner
    }
}

impl Engine {
    /// Runs the searches of all parts and returns one page of their matches as a Bundle. `answer.query` has the
    /// parameters that concern the page, such as its size and its sort keys.
    pub(in crate::search) async fn answer_parts(
        &self,
        mut parts: Vec<Part>,
        mut answer: Answer<'_>,
    ) -> Result<Bytes, SearchError> {
        let lead = answer.query;
        let queries: Vec<&Query> = parts.iter().map(|part| &part.query).collect();
        let order = Arc::new(Order::of(&queries)?);
        let trace = &lead.trace;
        for part in &mut parts {
            if part.has_outer() {
                part.query.joins = self.settle(&part.table, &mut part.query.criteria, trace).await?;
                self.note_joins(&part.table, &part.query);
                trace.part(|| explanation::Part::of(&part.query, &part.table, &self.bound(&part.query, &part.table)));
            }
        }
        trace.lap("others", None);
        self.look_inside(&mut parts, &order).await?;
        trace.lap("inside", Some(parts.iter().map(|part| part.inner.len()).sum()));
        if lead.total == Total::Accurate {
            answer.total = answer.course.total();
        }
        if lead.counts_only() || lead.total == Total::Accurate && answer.total.is_none() {
            let mut total = 0;
            for part in &parts {
                total += part.inner.len();
                if part.has_outer() {
                    total += self.count(&part.table, &part.query).await?;
                }
            }
            answer.total = Some(total);
            trace.lap("count", answer.total);
        }
        if lead.counts_only() {
            return answer.render(&[], Included::nothing());
        }
        let (places, more) = if lead.sort.is_empty() {
            self.one_after_the_other(&parts, lead).await?
        } else {
            self.merged(&parts, lead, &order).await?
        };
        trace.lap("match", Some(places.len()));
        let matches = self.entries_at(&parts, &places, lead.is_backwards())?;
        trace.lap("fetch", Some(matches.len()));
        if lead.is_backwards() {
            answer.left_out = places.len() - matches.len();
        }
        answer.more = more || matches.len() < places.len();
        self.complete(&parts[0].table, answer, matches, &lead.includes).await
    }

    /// Finds the contained resources of each part that match. If the answer shows containers, each container is only
    /// one match, even if several of its contained resources match, or if the container itself matches.
    async fn look_inside(&self, parts: &mut [Part], order: &Order) -> Result<(), SearchError> {
        let mut seen = FxHashSet::default();
        for at in 0..parts.len() {
            if parts[at].query.contained.which == Which::Outer {
                continue;
            }
            let part = &mut parts[at];
            let trace = &part.query.trace;
            let joins = self.settle(&part.table, &mut part.criteria, trace).await?;
            // The plan that finds containers does not show how these conditions were answered. So add the plans that
            // answered them.
            trace.sides(&joins);
            let criteria = std::mem::take(&mut part.criteria);
            let mut inner = self.inner(&part.table, &part.query, criteria, order).await?;
            if !part.query.contained.alone {
                for other in parts.iter().filter(|other| other.has_outer()) {
                    self.leave_out_matches(&other.table, &other.query, &mut inner).await?;
                }
                inner.retain(|one| seen.insert(one.container()));
            }
            parts[at].inner = inner;
        }
        Ok(())
    }

    /// Returns the matches of a page whose parts follow each other, and whether further matches follow.
    pub(in crate::search) async fn one_after_the_other(
        &self,
        parts: &[Part],
        lead: &Query,
    ) -> Result<(Vec<MatchPosition>, bool), SearchError> {
        let Some(place) = lead.place else {
            return self.forward(parts, 0, lead.offset, lead).await;
        };
        if place.side != Side::Before {
            return self.forward(parts, place.part, 0, lead).await;
        }
        let (before, here) = (&parts[..place.part], &parts[place.part]);
        let query = Query {
            place: Some(place),
            count: lead.count,
            ..here.query.clone()
        };
        let found = self.matches(&here.table, &query).await?.locators;
        let missing = lead.count - found.len();
        let mut places = Vec::new();
        if missing > 0 {
            // This part has too few matches before the position, so the page begins in an earlier part. Take the last
            // matches of the earlier parts.
            let mut all = 0;
            for part in before {
                all += self.count(&part.table, &part.query).await?;
            }
            let query = Query {
                place: None,
                count: missing.min(all),
                ..lead.clone()
            };
            places = self.forward(before, 0, all - query.count, &query).await?.0;
        }
        places.extend(found.into_iter().map(|row| MatchPosition::Outer(place.part, row)));
        // The page ends before the match at its position, so at least this match follows.
        Ok((places, true))
    }

    /// Returns the page's matches in part `from` and the parts after it, without the first `skip` matches. Also returns
    /// whether further matches follow. If `lead` has a position, the matches of part `from` start at this position.
    pub(in crate::search) async fn forward(
        &self,
        parts: &[Part],
        from: usize,
        mut skip: usize,
        lead: &Query,
    ) -> Result<(Vec<MatchPosition>, bool), SearchError> {
        // One match more than the page holds shows whether further matches follow.
        let wanted = lead.count + 1;
        let mut place = lead.place;
        let mut places = Vec::new();
        for (at, part) in parts.iter().enumerate().skip(from) {
            let passed = if part.has_outer() && skip > 0 {
                Some(self.count(&part.table, &part.query).await?).filter(|here| skip >= *here)
            } else {
                None
            };
            if let Some(here) = passed {
                skip -= here;
            } else if part.has_outer() {
                let query = Query {
                    offset: std::mem::take(&mut skip),
                    place: place.take(),
                    count: wanted - places.len(),
                    ..part.query.clone()
                };
                let found = self.matches(&part.table, &query).await?.locators;
                places.extend(found.into_iter().map(|row| MatchPosition::Outer(at, row)));
            }
            let from = skip.min(part.inner.len());
            skip -= from;
            let inner = (from..part.inner.len()).take(wanted - places.len());
            places.extend(inner.map(|which| MatchPosition::Inner(at, which)));
            if places.len() >= wanted {
                break;
            }
        }
        let more = places.len() > lead.count;
        places.truncate(lead.count);
        Ok((places, more))
    }

    async fn merged(
        &self,
        parts: &[Part],
        lead: &Query,
        order: &Arc<Order>,
    ) -> Result<(Vec<MatchPosition>, bool), SearchError> {
        let end = lead.offset.saturating_add(lead.count);
        if end > MAX_SORTED {
            let expected = "within the first 200000 matches of a search that is merged in order";
            return Err(invalid("_offset", &lead.offset.to_string(), expected));
        }
        let mut all = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            if part.has_outer() {
                let found = self.keyed(&part.table, &part.query, order, end + 1).await?;
                all.extend(
                    found
                        .into_iter()
                        .map(|found| (found.key, MatchPosition::Outer(at, found.at))),
                );
            }
            let inner = part.inner.iter().enumerate();
            all.extend(inner.filter_map(|(which, inner)| Some((inner.key.clone()?, MatchPosition::Inner(at, which)))));
            // The sort is stable, so equal keys stay in the order of the parts.
            all.sort_by(|one, other| one.0.cmp(&other.0));
            all.truncate(end + 1);
        }
        let more = all.len() > end;
        let page = all.into_iter().skip(lead.offset).take(lead.count);
        Ok((page.map(|(_, place)| place).collect(), more))
    }

    /// Returns the first `limit` matches of a table in the order `order`, with their sort keys.
    async fn keyed(
        &self,
        table: &ScopedTable,
        query: &Query,
        order: &Arc<Order>,
        limit: usize,
    ) -> Result<Vec<Keyed>, SearchError> {
        let bound = self.bound(query, table);
        match bound.person {
            Some(person) => {
                let first = PersonOutput::First {
                    order: order.clone(),
                    limit,
                };
                self.of_person(table, query, person, first).await?.first()
            }
            None => population::keyed(self.sessions(), table, query, bound.owners, order, limit).await,
        }
    }

    /// Reads the matches at these positions. If their resources exceed [`MAX_PAGE_BYTES`], leaves out matches at the
    /// end of the page or, with `backwards`, at its beginning. At least one match stays.
    pub(in crate::search) fn entries_at(
        &self,
        parts: &[Part],
        places: &[MatchPosition],
        backwards: bool,
    ) -> Result<Vec<Entry>, SearchError> {
        let (mut entries, mut bytes) = (Vec::with_capacity(places.len()), 0);
        let mut steps: Vec<&[MatchPosition]> = if backwards {
            places.rchunks(STEP).collect()
        } else {
            places.chunks(STEP).collect()
        };
        steps.reverse();
        'page: while let Some(places) = steps.pop() {
            let mut of_parts: Vec<VecDeque<Entry>> = Vec::with_capacity(parts.len());
            for (at, part) in parts.iter().enumerate() {
                of_parts.push(self.entries_of(at, part, places)?);
            }
            let mut here: Vec<Entry> = places
                .iter()
                .filter_map(|place| {
                    let (MatchPosition::Outer(at, _) | MatchPosition::Inner(at, _)) = place;
                    of_parts[*at].pop_front()
                })
                .collect();
            if backwards {
                here.reverse();
            }
            for entry in here {
                bytes += entry.row.resource.len();
                if bytes > MAX_PAGE_BYTES && !entries.is_empty() {
                    break 'page;
                }
                entries.push(entry);
            }
        }
        if backwards {
            entries.reverse();
        }
        Ok(entries)
    }

    /// Returns the matches of one part among these positions, in the order of the positions.
    fn entries_of(&self, at: usize, part: &Part, places: &[MatchPosition]) -> Result<VecDeque<Entry>, SearchError> {
        let (mut outer, mut inner) = (Vec::new(), Vec::new());
        for place in places {
            match place {
                MatchPosition::Outer(of, row) if *of == at => outer.push(*row),
                MatchPosition::Inner(of, which) if *of == at => inner.push(&part.inner[*which]),
                _ => {}
            }
        }
        let mut outer = part.table.resources(&outer)?.into_iter();
        let mut inner = self.show(&part.table, &part.query, &inner)?.into_iter();
        let in_order = places.iter().filter_map(|place| match place {
            MatchPosition::Outer(of, row) if *of == at => outer
                .next()
                .map(|found| Entry::of(part.table.type_id(), found).at(*row)),
            MatchPosition::Inner(of, _) if *of == at => inner.next(),
            _ => None,
        });
        Ok(in_order.collect())
    }
}
