//! Bounds the work of an evaluation. Work is counted in items, bytes of text and nodes that the evaluation handles,
//! never in time. So an evaluation over the same data succeeds or fails in the same way on every machine.
//!
//! Each row and each value of the batch allow an amount of work. If the evaluation does more work than their sum, it
//! takes the difference from a budget that all batches of a run share. Ordinary expressions need little of the budget.
//! An expression that multiplies its items uses up the budget and fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::DataType;

use super::super::error::FhirPathError;
use super::super::values::collection::Collection;
use super::super::values::columns::Values;
use super::super::values::items::{Index, Items};

/// The budget of a run, in addition to the work that its data allow. It is used up in about a second on a slow
/// machine.
const BUDGET: u64 = 48 << 20;
/// The work that each row allows, in addition to [`PER_PART`].
const PER_ROW: u64 = 1000;
/// The work that each row allows for each part of the run's expressions.
const PER_PART: u64 = 16;
/// If the expressions have more parts than this, the further parts do not increase the work that a row allows.
const MAX_PARTS: u64 = 2048;
/// The number of parts that is assumed if the caller has not counted them.
const SOME_PARTS: usize = 128;
/// The work that each value of a batch allows.
const PER_VALUE: u64 = 64;
/// So many bytes of text count as one further value.
const BYTES_PER_VALUE: u64 = 8;
/// A complex item with more columns than this costs no more work to compare.
const MAX_WEIGHT: usize = 256;

/// The work that all batches of a run may do in addition to the work that their data allow. Clones share the same
/// budget.
#[derive(Clone, Debug)]
pub struct WorkBudget(Arc<AtomicU64>);

impl Default for WorkBudget {
    fn default() -> WorkBudget {
        WorkBudget(Arc::new(AtomicU64::new(BUDGET)))
    }
}

impl WorkBudget {
    fn take(&self, work: u64) -> Result<(), FhirPathError> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(work))
        });
        match left {
            Ok(left) if left >= work => Ok(()),
            _ => Err(FhirPathError::TooCostly),
        }
    }

    fn is_spent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// The work that has been done over one batch, and its limit.
#[derive(Debug)]
pub struct Work {
    /// The work that the rows and values of the batch allow. Work up to this amount does not use the budget.
    accounted: u64,
    /// The work so far. Only the evaluating thread changes it.
    done: AtomicU64,
    budget: WorkBudget,
}

impl Work {
    /// Returns a counter for the work over this batch. `parts` is the number of parts of all expressions together.
    /// `budget` is the budget of the run.
    pub fn over(batch: &RecordBatch, parts: usize, budget: &WorkBudget) -> Arc<Work> {
        let rows = batch.num_rows() as u64;
        let per_row = PER_ROW + PER_PART * (parts as u64).min(MAX_PARTS);
        let values: u64 = batch
            .columns()
            .iter()
            .map(|column| values(column, 0, column.len()))
            .sum();
        Arc::new(Work {
            accounted: rows
                .saturating_mul(per_row)
                .saturating_add(values.saturating_mul(PER_VALUE)),
            done: AtomicU64::new(0),
            budget: budget.clone(),
        })
    }

    /// Returns a counter for a batch that belongs to no run. It has a budget of its own.
    pub(in crate::fhirpath) fn alone(batch: &RecordBatch) -> Arc<Work> {
        Work::over(batch, SOME_PARTS, &WorkBudget::default())
    }

    /// Adds `work` to the work over the batch. What exceeds the work that the data allow is taken from the budget.
    /// Returns an error if the budget does not suffice.
    pub(in crate::fhirpath) fn spend(&self, work: usize) -> Result<(), FhirPathError> {
        let work = work as u64;
        let done = self.done.load(Ordering::Relaxed).saturating_add(work);
        self.done.store(done, Ordering::Relaxed);
        match done.checked_sub(self.accounted) {
            None | Some(0) => Ok(()),
            Some(beyond) => self.budget.take(beyond.min(work)),
        }
    }

    /// Returns an error if the budget is used up.
    pub(in crate::fhirpath) fn check(&self) -> Result<(), FhirPathError> {
        if self.budget.is_spent() {
            Err(FhirPathError::TooCostly)
        } else {
            Ok(())
        }
    }
}

/// Returns the number of values in `len` slots of a column from `start` on, including the values of nested lists and
/// structs. Text counts as further values, by its length.
fn values(array: &dyn Array, start: usize, len: usize) -> u64 {
    let own = len as u64;
    own + match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let bounds = list.value_offsets();
            let (first, last) = (bounds[start] as usize, bounds[start + len] as usize);
            values(list.values(), first, last - first)
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(|column| values(column, start, len)).sum()
        }
        DataType::Utf8 => {
            let bounds = array.as_string::<i32>().value_offsets();
            (bounds[start + len] - bounds[start]) as u64 / BYTES_PER_VALUE
        }
        _ => 0,
    }
}

impl Collection {
    /// Returns the number of bytes of text in the collection.
    pub(in crate::fhirpath) fn text_bytes(&self) -> usize {
        if let Some(items) = self.single() {
            return items.text_bytes();
        }
        if self.columns().iter().all(|items| items.values().text().is_none()) {
            return 0;
        }
        let of = |item: usize| {
            let (items, item) = self.item(item);
            items
                .values()
                .text()
                .map_or(0, |texts| texts.value_length(items.slot(item)) as usize)
        };
        (0..self.len()).map(of).sum()
    }

    /// Returns the work of comparing each item of the collection once.
    pub(in crate::fhirpath) fn comparing(&self) -> usize {
        let heaviest = self.columns().iter().map(Items::weight).max().unwrap_or(1);
        self.len()
            .saturating_mul(heaviest)
            .saturating_add(self.text_bytes() / 16)
    }
}

impl Items {
    fn text_bytes(&self) -> usize {
        let Some(texts) = self.values().text() else {
            return 0;
        };
        match &self.index {
            Index::Constant(slot) => self.len.saturating_mul(texts.value_length(*slot as usize) as usize),
            Index::Identity if texts.len() == self.len => {
                let bounds = texts.value_offsets();
                (bounds[self.len] - bounds[0]) as usize
            }
            _ => (0..self.len)
                .map(|item| texts.value_length(self.slot(item)) as usize)
                .sum(),
        }
    }

    /// Returns the work of comparing one of the items. For a struct, this work grows with the number of columns.
    pub(in crate::fhirpath) fn weight(&self) -> usize {
        match self.values() {
            Values::Struct(array) => 8 + columns(array),
            Values::Json(texts) => 16 + texts.value_data().len() / texts.len().max(1) / 2,
            Values::Quantity { .. } => 16,
            Values::Temporal { .. } | Values::Decimal { .. } => 8,
            _ => 2,
        }
    }
}

/// Returns the number of columns below a struct, but at most [`MAX_WEIGHT`].
fn columns(array: &dyn Array) -> usize {
    let mut count = 0;
    match array.data_type() {
        DataType::Struct(_) => {
            for column in array.as_struct().columns() {
                count += 1 + columns(column);
                if count >= MAX_WEIGHT {
                    return MAX_WEIGHT;
                }
            }
        }
        DataType::List(_) => count += columns(array.as_list::<i32>().values()),
        _ => {}
    }
    count
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, StringArray};

    use super::*;

    fn batch(texts: Vec<&str>) -> RecordBatch {
        let column: ArrayRef = Arc::new(StringArray::from(texts));
        RecordBatch::try_from_iter([("id", column)]).unwrap()
    }

    #[test]
    fn what_the_data_account_for_is_not_taken_from_the_budget() {
        let budget = WorkBudget::default();
        let rows = batch(vec!["a"; 100]);
        let accounted = 100 * (PER_ROW + 3 * PER_PART) + (100 + 100 / BYTES_PER_VALUE) * PER_VALUE;
        let work = Work::over(&rows, 3, &budget);
        work.spend(accounted as usize).unwrap();
        assert_eq!(budget.0.load(Ordering::Relaxed), BUDGET);
        work.spend(5).unwrap();
        // Batches of a run share the budget. Each batch also allows the work for its own data.
        Work::over(&rows, 3, &budget).spend(accounted as usize + 7).unwrap();
        assert_eq!(budget.0.load(Ordering::Relaxed), BUDGET - 12);
        assert_eq!(work.spend(BUDGET as usize), Err(FhirPathError::TooCostly));
        assert_eq!(work.check(), Err(FhirPathError::TooCostly));
    }
}
