//! Reads the resources of a page's matches. Their locators have been found before. If there are many, several threads
//! read them.

use super::super::SearchError;
use super::super::engine::{Engine, MAX_PAGE_BYTES};
use super::super::parameters::query::Query;
use super::super::run::matches::Found;
use super::page::Entry;
use crate::lake::scan::{Locator, Row, ScopedTable};
use crate::parallel::processors;
use crate::plan::at_once;

/// The minimum number of rows for each thread, if several threads read.
const WORTH_A_THREAD: usize = 128;

impl Engine {
    /// Reads the resources of a page, up to [`MAX_PAGE_BYTES`]. Matches that would exceed this limit are left out at
    /// the end of the page, or at its beginning if the page is found backwards. At least one match stays, even if it is
    /// larger.
    pub(in crate::search) async fn fetch(
        &self,
        table: &ScopedTable,
        query: &Query,
        found: &mut Found,
    ) -> Result<Vec<Entry>, SearchError> {
        let mut places = found.locators.clone();
        if query.is_backwards() {
            places.reverse();
        }
        let mut entries = Vec::with_capacity(places.len());
        let mut bytes = 0;
        let mut left = places.as_slice();
        'page: while !left.is_empty() {
            let (now, rows) = some(table, left, left.len(), 2 * MAX_PAGE_BYTES).await?;
            for (place, row) in left[..now].iter().zip(rows) {
                bytes += row.resource.len();
                if bytes > MAX_PAGE_BYTES && !entries.is_empty() {
                    found.more = true;
                    break 'page;
                }
                entries.push(Entry::of(table.type_id(), row).at(*place));
            }
            left = &left[now..];
        }
        if query.is_backwards() {
            entries.reverse();
        }
        Ok(entries)
    }
}

/// Reads the rows at the first `count` locators. If these rows exceed `max_bytes`, reads fewer rows, but at least one.
/// If several threads read, `max_bytes` is the limit of each thread. Returns the number of locators that were read, and
/// the rows.
pub(in crate::search) async fn some(
    table: &ScopedTable,
    places: &[Locator],
    count: usize,
    max_bytes: usize,
) -> Result<(usize, Vec<Row>), SearchError> {
    let mut count = count.clamp(1, places.len().max(1)).min(places.len());
    loop {
        let max_bytes = if count <= 1 { usize::MAX } else { max_bytes };
        match at_most(table, &places[..count], max_bytes).await? {
            Some(rows) => return Ok((count, rows)),
            None => count = (count / 16).max(1),
        }
    }
}

/// Returns the rows at these locators in the given order. If there are many, several threads read them. Returns `None`
/// if the rows that one thread reads have more than `max_bytes` bytes.
async fn at_most(table: &ScopedTable, places: &[Locator], max_bytes: usize) -> Result<Option<Vec<Row>>, SearchError> {
    let parts = (places.len() / WORTH_A_THREAD).clamp(1, processors());
    if parts == 1 {
        return Ok(table.resources_at_most(places, max_bytes)?);
    }
    // Neighbouring rows of a file are in the same Parquet pages. So the locators are sorted, and each thread reads a
    // contiguous range of them.
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_unstable_by_key(|at| places[*at]);
    let shares = order.chunks(order.len().div_ceil(parts));
    let read = |share: &[usize]| {
        let here: Vec<Locator> = share.iter().map(|at| places[*at]).collect();
        let table = table.clone();
        async move { table.resources_at_most(&here, max_bytes) }
    };
    let found = at_once(shares.clone().map(read)).await;
    let mut rows: Vec<Option<Row>> = vec![None; places.len()];
    for (share, here) in shares.zip(found.map_err(SearchError::of_thread)?) {
        let Some(here) = here? else { return Ok(None) };
        share.iter().zip(here).for_each(|(at, row)| rows[*at] = Some(row));
    }
    Ok(Some(rows.into_iter().flatten().collect()))
}
