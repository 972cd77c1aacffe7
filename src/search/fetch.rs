//! The resources of a page's matches, read last and only for the page.

use datafusion::common::runtime::SpawnedTask;

use super::SearchError;
use super::engine::{Engine, MAX_PAGE_BYTES};
use super::matches::Found;
use super::page::Entry;
use crate::lake::scan::{Locator, Row, ScopedTable};

/// Rows that are worth a thread of their own.
const WORTH_A_THREAD: usize = 128;
/// Rows read at a time where all of them together are more than a page holds.
const STEP: usize = 20;

impl Engine {
    /// The resources of a page, cut where it meets [`MAX_PAGE_BYTES`].
    pub(super) async fn fetch(&self, table: &ScopedTable, found: &mut Found) -> Result<Vec<Entry>, SearchError> {
        let entry = |(place, row): (&Locator, Row)| Entry {
            ty: table.ty(),
            row,
            place: Some(*place),
        };
        let mut bytes = 0;
        let mut fits = |row: &Row| {
            bytes += row.resource.len();
            bytes <= MAX_PAGE_BYTES
        };
        if let Some(rows) = at_most(table, &found.locators, 2 * MAX_PAGE_BYTES).await? {
            let fitting = rows
                .iter()
                .position(|row| !fits(row))
                .map_or(rows.len(), |at| at.max(1));
            found.more |= fitting < rows.len();
            return Ok(found.locators.iter().zip(rows).take(fitting).map(entry).collect());
        }
        let mut entries = Vec::new();
        for places in found.locators.chunks(STEP) {
            for (place, row) in places.iter().zip(table.resources(places)?) {
                if !fits(&row) && !entries.is_empty() {
                    found.more = true;
                    return Ok(entries);
                }
                entries.push(entry((place, row)));
            }
        }
        Ok(entries)
    }
}

/// The rows at these places in the order given, read on all processors; `None` where they have more bytes than `most`.
async fn at_most(table: &ScopedTable, places: &[Locator], most: usize) -> Result<Option<Vec<Row>>, SearchError> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let parts = (places.len() / WORTH_A_THREAD).clamp(1, processors);
    if parts == 1 {
        return Ok(table.resources_at_most(places, most)?);
    }
    // Neighbours in a file lie in the same pages: each thread takes a stretch.
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_unstable_by_key(|at| places[*at]);
    let tasks: Vec<_> = order
        .chunks(order.len().div_ceil(parts))
        .map(|order| {
            let (table, order) = (table.clone(), order.to_vec());
            let here: Vec<Locator> = order.iter().map(|at| places[*at]).collect();
            SpawnedTask::spawn(async move { (order, table.resources_at_most(&here, most)) })
        })
        .collect();
    let mut rows: Vec<Option<Row>> = vec![None; places.len()];
    for task in tasks {
        let (order, found) = task.join().await.map_err(SearchError::of_thread)?;
        let Some(found) = found? else { return Ok(None) };
        for (at, row) in order.into_iter().zip(found) {
            rows[at] = Some(row);
        }
    }
    Ok(Some(rows.into_iter().flatten().collect()))
}
