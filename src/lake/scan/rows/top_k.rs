//! Drops rows that the sort above a scan cannot put first. The scan reads the sort's first key before the other columns
//! of the output. So for a page sorted by date it reads the ids of a few candidates, not those of all matches.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, make_comparator};
use arrow::compute::{SortOptions, concat, filter_record_batch, sort_to_indices, take};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::conditions::ranges::Ranges;
use super::super::decode::adapt::adapt;
use super::super::decode::columns;
use super::super::error::ScanError;
use super::clip::Clip;
use super::resolved::Scan;

/// A filter that drops rows which the sort above a scan would drop.
#[derive(Debug)]
pub(in crate::lake::scan) struct TopKFilter {
    /// The first key of the sort, as an expression over `schema`.
    key: Arc<dyn PhysicalExpr>,
    options: SortOptions,
    /// The number of rows that the sort keeps.
    fetch: usize,
    /// The columns that the key reads.
    schema: SchemaRef,
    /// The columns of the key that no predicate reads. They are decoded to rank the rows.
    columns: Clip,
    /// The other columns of the output that no predicate reads. They are decoded only for the rows that the filter
    /// keeps.
    rest: Clip,
    label: Arc<str>,
}

/// The first key of a sort above a scan, and how many rows that sort keeps.
#[derive(Clone, Debug)]
pub(in crate::lake::scan) struct TopK {
    pub(in crate::lake::scan) key: PhysicalSortExpr,
    pub(in crate::lake::scan) fetch: usize,
}

impl fmt::Display for TopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.expr.to_string();
        // Take only the name of the expression, without its columns.
        let name = key.split(['(', '@']).next().unwrap_or_default();
        write!(f, "among the first {} by {name}", self.fetch)
    }
}

/// The best keys of the rows that the filter has seen so far.
#[derive(Debug, Default)]
pub(in crate::lake::scan) struct Ranking {
    best: Option<ArrayRef>,
}

impl TopKFilter {
    /// Makes the filter for a scan. `None` if the filter saves nothing: no other column is decoded after the key, the
    /// key reads no column, or the sort keeps no row.
    pub(in crate::lake::scan) fn of(scan: &Scan, top_k: &TopK) -> Option<TopKFilter> {
        let TopK { key, fetch } = top_k;
        let read = collect_columns(&key.expr);
        let is_read = |name: &str| read.iter().any(|column| column.name() == name);
        let rest = scan.rest.retain(|name| !is_read(name));
        if rest.schema().fields().is_empty() || read.is_empty() || *fetch == 0 {
            return None;
        }
        let fields = scan.schema.fields().iter().filter(|field| is_read(field.name()));
        let schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        Some(TopKFilter {
            key: reassign_expr_columns(key.expr.clone(), &schema).ok()?,
            options: key.options,
            fetch: *fetch,
            schema,
            columns: scan.rest.retain(is_read),
            rest,
            label: top_k.to_string().into(),
        })
    }

    pub(in crate::lake::scan) fn rest(&self) -> &Clip {
        &self.rest
    }

    /// Returns the text that `explain` shows.
    pub(in crate::lake::scan) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Drops the rows of a row group that cannot be among the first `fetch` rows. Returns the other rows, with the
    /// columns of `early` and the columns of the key.
    pub(in crate::lake::scan) fn keep(
        &self,
        ranking: &mut Ranking,
        (file, group): (&Arc<OpenFile>, usize),
        rows: Ranges,
        early: RecordBatch,
        read: &Arc<ReadBytes>,
    ) -> Result<(Ranges, RecordBatch), ScanError> {
        let late = columns::read(file, group, &self.columns, &rows, read)?;
        let early = beside(&early, &late)?;
        let keys = self.keys(&early)?;
        let mask = ranking.keep(&keys, self.options, self.fetch)?;
        Ok((rows.filter(&mask), filter_record_batch(&early, &mask)?))
    }

    fn keys(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        self.key
            .evaluate(&adapt(batch, &self.schema)?)?
            .into_array(batch.num_rows())
    }
}

impl Ranking {
    /// Returns a mask of `keys`. It is true for a key that is among the `limit` best keys so far, or equal to the worst
    /// of these best keys.
    fn keep(&mut self, keys: &ArrayRef, options: SortOptions, limit: usize) -> Result<BooleanArray, ScanError> {
        let all = match &self.best {
            Some(best) => concat(&[best.as_ref(), keys.as_ref()])?,
            None => keys.clone(),
        };
        let first = sort_to_indices(&all, Some(options), Some(limit))?;
        self.best = Some(take(&all, &first, None)?);
        if first.len() < limit {
            return Ok(BooleanArray::from(vec![true; keys.len()]));
        }
        let last = first.value(limit - 1) as usize;
        let order = make_comparator(&all, &all, options)?;
        let from = all.len() - keys.len();
        Ok((from..all.len())
            .map(|at| Some(order(at, last) != Ordering::Greater))
            .collect())
    }
}

/// Makes one batch with the columns of both batches.
fn beside(left: &RecordBatch, right: &RecordBatch) -> Result<RecordBatch, ScanError> {
    let (mut fields, mut columns) = (left.schema().fields().to_vec(), left.columns().to_vec());
    fields.extend(right.schema().fields().iter().cloned());
    columns.extend_from_slice(right.columns());
    let options = RecordBatchOptions::new().with_row_count(Some(left.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::new(Schema::new(fields)),
        columns,
        &options,
    )?)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, Int64Array, StringArray};
    use proptest::prelude::*;

    use super::*;

    /// Returns the first keys of the rows that the ranking keeps, and the first keys of all rows. Both must be the
    /// same.
    fn first_of(
        groups: &[Vec<Option<i64>>],
        options: SortOptions,
        limit: usize,
    ) -> (Vec<Option<i64>>, Vec<Option<i64>>) {
        let mut ranking = Ranking::default();
        let mut left = Vec::new();
        for group in groups {
            let keys: ArrayRef = Arc::new(Int64Array::from(group.clone()));
            let mask = ranking.keep(&keys, options, limit).unwrap();
            left.extend(
                group
                    .iter()
                    .zip(mask.values().iter())
                    .filter(|(_, kept)| *kept)
                    .map(|(key, _)| *key),
            );
        }
        (first(left, options, limit), first(groups.concat(), options, limit))
    }

    fn first(keys: Vec<Option<i64>>, options: SortOptions, limit: usize) -> Vec<Option<i64>> {
        let keys: ArrayRef = Arc::new(Int64Array::from(keys));
        let sorted = sort_to_indices(&keys, Some(options), Some(limit)).unwrap();
        let sorted = take(&keys, &sorted, None).unwrap();
        let sorted = sorted.as_any().downcast_ref::<Int64Array>().unwrap();
        sorted.iter().collect()
    }

    proptest! {
        #[test]
        fn nothing_is_left_out_that_may_come_first(
            groups in prop::collection::vec(prop::collection::vec(prop::option::of(-9i64..9), 0..40), 0..6),
            descending: bool,
            nulls_first: bool,
            limit in 1usize..30,
        ) {
            let (left, all) = first_of(&groups, SortOptions { descending, nulls_first }, limit);
            prop_assert_eq!(left, all);
        }
    }

    /// Rows that are equal to the last kept row by the first key must stay: the sort's other keys order them.
    #[test]
    fn equals_of_the_last_stay() {
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["b", "a", "b", "c", "b"]));
        let options = SortOptions::default();
        let mask = Ranking::default().keep(&keys, options, 2).unwrap();
        assert_eq!(mask, BooleanArray::from(vec![true, true, true, false, true]));
        assert_eq!(mask.null_count(), 0);
    }
}
