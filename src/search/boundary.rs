//! The rows of a sorted search that lie behind one of its matches, or before it: what a page link knows is a match, and its sort
//! keys are read again from its columns.
//!
//! Each row has one value of each key, whatever the parameter's expression yields, and the id decides between equal rows, so that
//! there is exactly one place for each.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, make_comparator};
use arrow::compute::SortOptions;
use datafusion::common::DataFusionError;

use super::query::SortKey;
use super::tag::Side;
use super::{SearchError, sort};
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{Keep, Locator, RowPredicate, ScopedTable};

/// Keeps the rows on this side of a match; `leaves` are what the keys read, and the id.
pub(super) fn predicate(
    table: &ScopedTable,
    keys: &[SortKey],
    leaves: LeafSet,
    matched: Locator,
    side: Side,
) -> Result<RowPredicate, SearchError> {
    let bound = columns(keys, &table.columns(&[matched], &leaves)?)?;
    let keys = keys.to_vec();
    let keep: Keep = Arc::new(move |batch: &RecordBatch| {
        beyond(&keys, batch, &bound, side).map_err(|error| DataFusionError::External(Box::new(error)))
    });
    Ok(RowPredicate {
        leaves,
        keep,
        label: "on the page's side of a match".into(),
    })
}

/// For each row whether it lies on the side of the match with these keys.
fn beyond(keys: &[SortKey], batch: &RecordBatch, bound: &[ArrayRef], side: Side) -> Result<BooleanArray, SearchError> {
    let rows = columns(keys, batch)?;
    let descending = keys.iter().map(|key| key.descending).chain([false]);
    let comparators = rows
        .iter()
        .zip(bound)
        .zip(descending)
        .map(|((rows, bound), descending)| {
            let options = SortOptions {
                descending,
                nulls_first: false,
            };
            make_comparator(rows, bound, options)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let is_beyond = |row: usize| {
        let orders = comparators.iter().map(|compare| compare(row, 0));
        let order = orders
            .into_iter()
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal);
        match side {
            Side::After => order.is_gt(),
            Side::At => order.is_ge(),
            Side::Before => order.is_lt(),
        }
    };
    Ok((0..batch.num_rows()).map(|row| Some(is_beyond(row))).collect())
}

/// The columns that rows are ordered by: the keys, and the id.
fn columns(keys: &[SortKey], batch: &RecordBatch) -> Result<Vec<ArrayRef>, SearchError> {
    let mut columns = keys
        .iter()
        .map(|key| sort::keys(key, batch))
        .collect::<Result<Vec<_>, _>>()?;
    columns.extend(batch.column_by_name("id").cloned());
    Ok(columns)
}
