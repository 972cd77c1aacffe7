//! Searches over one person's columns: they match, sort and cut the rows directly. Planning would cost more than this
//! work. An explained search runs the same code as the operator of a plan (`person_operator`). A plan over many people
//! gives the same answer, which a test checks.

use std::ops::Range;

use arrow::array::{BooleanArray, BooleanBufferBuilder, RecordBatch, UInt32Array};
use arrow::compute::{SortColumn, SortOptions, filter_record_batch, lexsort_to_indices};

use super::super::SearchError;
use super::super::criteria::{filter, sort};
use super::super::paging::page_token::{PagePosition, Side};
use super::super::parameters::query::{Query, SortKey};
use super::matches::Found;
use super::merge::{Keyed, Order};
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{FILE, Locator, Person, ROW, ScopedTable};
use crate::plan::Pause;

/// The work after which a search over one person may pause: a fraction of a millisecond.
const WORK_OF_A_TURN: u64 = 10_000;

/// The least number of rows that are tested in a turn, if their work is not in long texts.
const ROWS_OF_A_TURN: u64 = 64;

/// A person's rows, and for each row whether it meets the criteria of a query.
pub(in crate::search) struct Tested {
    pub(in crate::search) rows: RecordBatch,
    pub(in crate::search) matches: BooleanArray,
}

impl Tested {
    /// Reads a person's rows with these leaves, and tests them.
    pub(in crate::search) fn read(
        table: &ScopedTable,
        query: &Query,
        person: Person,
        leaves: &LeafSet,
    ) -> Result<Tested, SearchError> {
        let rows = table.person_batch(person, leaves)?.batch;
        table.spend(filter::cost_of(&query.criteria, &rows))?;
        let matches = filter::matches(&query.criteria, &rows)?;
        Ok(Tested { rows, matches })
    }

    /// Reads and tests rows like [`read`](Self::read). If this takes much work, pauses now and then, so that other
    /// searches run on the thread.
    pub(in crate::search) async fn read_in_turns(
        table: &ScopedTable,
        query: &Query,
        person: Person,
        leaves: &LeafSet,
    ) -> Result<Tested, SearchError> {
        let rows = table.person_batch(person, leaves)?.batch;
        let all = rows.num_rows();
        let cost = filter::cost_of(&query.criteria, &rows);
        table.spend(cost)?;
        if cost <= WORK_OF_A_TURN {
            let matches = filter::matches(&query.criteria, &rows)?;
            return Ok(Tested { rows, matches });
        }
        let of_texts = cost - filter::cost(&query.criteria, all);
        // Each portion reads the columns anew, so many small ones take long. Texts are read once.
        let least = if of_texts > cost / 2 { 1 } else { ROWS_OF_A_TURN };
        let step = (all as u64 * WORK_OF_A_TURN / cost).max(least) as usize;
        let mut matches = BooleanBufferBuilder::new(all);
        let mut pause = Pause::default();
        for from in (0..all).step_by(step) {
            let portion = rows.slice(from, step.min(all - from));
            matches.append_buffer(filter::matches(&query.criteria, &portion)?.values());
            pause.take().await;
            // Stops here if nobody waits for the answer any more.
            table.spend(0)?;
        }
        let matches = BooleanArray::new(matches.finish(), None);
        Ok(Tested { rows, matches })
    }

    /// Returns the rows that meet the criteria.
    pub(in crate::search) fn matching(&self) -> Result<RecordBatch, SearchError> {
        Ok(filter_record_batch(&self.rows, &self.matches)?)
    }
}

/// Returns the leaves that the criteria and the sort keys of a query read.
pub(in crate::search) fn leaves(query: &Query) -> LeafSet {
    let mut leaves = filter::leaves(&query.criteria);
    for key in &query.sort {
        leaves.extend(key.compiled.program.leaves().iter().cloned());
    }
    leaves
}

/// Searches a person's rows. Returns the matches of the page, whether further matches follow, and the total.
pub(in crate::search) fn search(query: &Query, Tested { rows, matches }: Tested) -> Result<Found, SearchError> {
    let total = matches.true_count();
    if query.counts_only() || total <= query.offset && query.place.is_none() {
        return Ok(Found {
            locators: Vec::new(),
            more: false,
            total: Some(total),
        });
    }
    let rows = placing(&rows, query)?;
    let rows = if total == rows.num_rows() {
        rows
    } else {
        filter_record_batch(&rows, &matches)?
    };
    let locators = Locator::of(&rows);
    // A sorted page begins at its offset, so only the rows up to its end are sorted. If rows may have been erased since
    // the link was made, the offset may be wrong. Then the position in the page token decides, and all rows are sorted.
    let place = query.place.filter(|_| query.sort.is_empty() || query.erased_since);
    let counted = query.offset..query.offset.saturating_add(query.count);
    let last = if place.is_some() { total } else { counted.end.min(total) };
    let locators = if query.sort.is_empty() {
        locators
    } else {
        let order = order(&rows, query, last)?;
        order.values().iter().map(|row| locators[*row as usize]).collect()
    };
    let page = match place.map(|place| page(&locators, place, query.count)) {
        Some(None) if query.erased_since => return Err(SearchError::Expired),
        page => page.flatten().unwrap_or(counted),
    };
    let (start, end) = (page.start.min(total), page.end.min(total));
    let locators = locators[start..end].to_vec();
    Ok(Found {
        locators,
        more: end < total,
        total: Some(total),
    })
}

/// Returns the first `limit` matches among a person's rows in the order `order`, with their sort keys.
pub(in crate::search) fn keyed(
    query: &Query,
    tested: &Tested,
    order: &Order,
    limit: usize,
) -> Result<Vec<Keyed>, SearchError> {
    let rows = tested.matching()?;
    let Some(ids) = rows.column_by_name("id").cloned() else {
        return Ok(Vec::new());
    };
    let keys = query.sort.iter().map(|key| sort::keys(key, &rows));
    let places = order.places(keys.collect::<Result<_, _>>()?, ids)?;
    let mut keyed: Vec<Keyed> = places
        .into_iter()
        .zip(Locator::of(&rows))
        .map(|(key, at)| Keyed { key, at })
        .collect();
    keyed.sort_by(|one, other| one.key.cmp(&other.key));
    keyed.truncate(limit);
    Ok(keyed)
}

/// Returns the text with which a plan shows the page of a person's matches, such as `, skip=0, take=10`.
pub(in crate::search) fn page_label(query: &Query) -> String {
    if query.counts_only() {
        return ", count".to_owned();
    }
    let order = order_label(query);
    match query.place.map(|place| place.side) {
        None => format!(", {order}skip={}, take={}", query.offset, query.count),
        Some(Side::Before) => format!(", {order}take={} before the link's match", query.count),
        Some(Side::At | Side::After) => format!(", {order}take={} from the link's match on", query.count),
    }
}

/// Returns the text with which a plan shows the order of a person's matches, such as `order=[-date, id], `. Empty if
/// the matches have the order of the table.
pub(in crate::search) fn order_label(query: &Query) -> String {
    let key = |key: &SortKey| {
        let sign = if key.descending { "-" } else { "" };
        format!("{sign}{}", key.compiled.parameter.code)
    };
    match query.sort.as_slice() {
        [] => String::new(),
        keys => format!("order=[{}, id], ", keys.iter().map(key).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the rows with fewer columns: the columns that the sort keys read, the ids and the locators.
fn placing(rows: &RecordBatch, query: &Query) -> Result<RecordBatch, SearchError> {
    let is_wanted =
        |column: &str| ["id", FILE, ROW].contains(&column) || query.sort.iter().any(|key| key.reads(column));
    let fields = rows.schema_ref().fields().iter().enumerate();
    let wanted = fields.filter(|(_, field)| is_wanted(field.name()));
    let wanted: Vec<usize> = wanted.map(|(at, _)| at).collect();
    Ok(rows.project(&wanted)?)
}

/// Returns the range of the page among a person's matches. It may end after the last match. Returns `None` if the match
/// at the page's position is not among them.
fn page(matches: &[Locator], place: PagePosition, count: usize) -> Option<Range<usize>> {
    let at = matches.iter().position(|matched| *matched == place.locator)?;
    Some(match place.side {
        Side::After => at + 1..(at + 1).saturating_add(count),
        Side::At => at..at.saturating_add(count),
        Side::Before => at.saturating_sub(count)..at,
    })
}

/// Returns the indexes of the first `limit` rows in the requested order. Rows with equal keys are ordered by id.
fn order(rows: &RecordBatch, query: &Query, limit: usize) -> Result<UInt32Array, SearchError> {
    let mut columns = Vec::with_capacity(query.sort.len() + 1);
    for key in &query.sort {
        columns.push(SortColumn {
            values: sort::keys(key, rows)?,
            options: Some(SortOptions {
                descending: key.descending,
                nulls_first: false,
            }),
        });
    }
    if let Some(ids) = rows.column_by_name("id") {
        columns.push(SortColumn {
            values: ids.clone(),
            options: Some(SortOptions {
                descending: false,
                nulls_first: false,
            }),
        });
    }
    Ok(lexsort_to_indices(&columns, Some(limit))?)
}
