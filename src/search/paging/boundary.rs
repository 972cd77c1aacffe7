//! A predicate for the rows of a sorted search that are on one side of a given match. A page token contains only the
//! locator of the match, so the predicate reads the match's sort keys from its columns.
//!
//! Each row has one value for each key. The id decides between rows with equal keys, so each row has exactly one
//! position in the order.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, make_comparator};
use arrow::compute::SortOptions;
use datafusion::common::DataFusionError;

use super::super::SearchError;
use super::super::criteria::sort;
use super::super::parameters::query::SortKey;
use super::page_token::Side;
use crate::columns::conditions::Necessary;
use crate::fhir::storage::LeafSet;
use crate::lake::scan::{Locator, Predicate, ScopedTable};

/// The sort orders the rows and the match. This predicate holds for the rows after the match, for those before it or,
/// with `Side::At`, for the match itself and the rows after it.
#[derive(Debug)]
pub(in crate::search) struct Beyond {
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
    pub(in crate::search) keys: Vec<SortKey>,
    /// The sort keys and the id of the match, each as a column with one row.
    bound: Vec<ArrayRef>,
    pub(in crate::search) side: Side,
    /// The locator of the match.
    pub(in crate::search) matched: Locator,
}

/// Creates the predicate for the rows on one side of the match at the locator `matched`. `leaves` must have the leaves
/// of the keys, and `id`.
pub(in crate::search) fn predicate(
    table: &ScopedTable,
    keys: &[SortKey],
    leaves: LeafSet,
    matched: Locator,
    side: Side,
) -> Result<Arc<dyn Predicate>, SearchError> {
    let bound = columns(keys, &table.columns(&[matched], &leaves)?)?;
    Ok(Arc::new(Beyond {
        label: "on the page's side of a match".into(),
        leaves,
        necessary: Necessary::default(),
        keys: keys.to_vec(),
        bound,
        side,
        matched,
    }))
}

impl Predicate for Beyond {
    fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    fn necessary(&self) -> &Necessary {
        &self.necessary
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, DataFusionError> {
        let kept = beyond(&self.keys, batch, &self.bound, self.side);
        kept.map_err(|error| DataFusionError::External(Box::new(error)))
    }
}

/// Decides for each row whether it is on the requested side of the match whose keys and id are `bound`.
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

/// Returns the columns that order rows: the sort keys, then the id.
fn columns(keys: &[SortKey], batch: &RecordBatch) -> Result<Vec<ArrayRef>, SearchError> {
    let mut columns = keys
        .iter()
        .map(|key| sort::keys(key, batch))
        .collect::<Result<Vec<_>, _>>()?;
    columns.extend(batch.column_by_name("id").cloned());
    Ok(columns)
}
