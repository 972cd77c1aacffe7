//! What a caller asks of a scan.

use std::fmt;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use datafusion::error::DataFusionError;

use super::items::ItemMatch;
use super::order::Order;
use super::prune::Prune;
use super::stretch::Stretch;
use crate::fhir::storage::LeafSet;

/// The computation of a [`RowPredicate`].
pub type Keep = Arc<dyn Fn(&RecordBatch) -> Result<BooleanArray, DataFusionError> + Send + Sync>;

/// A condition on rows that the scan evaluates before it reads the other columns.
#[derive(Clone)]
pub struct RowPredicate {
    /// The columns it reads; the batch it is given has the clipped schema of exactly these.
    pub leaves: LeafSet,
    /// One value per row; rows with null are dropped like those with `false`.
    pub keep: Keep,
    /// How `explain` shows it.
    pub label: Arc<str>,
}

impl fmt::Debug for RowPredicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowPredicate")
            .field("label", &self.label)
            .field("leaves", &self.leaves)
            .finish()
    }
}

/// A scan of a table's rows.
#[derive(Clone, Debug, Default)]
pub struct ScanRequest {
    /// The columns the caller wants.
    pub leaves: LeafSet,
    /// Rows to keep, besides what the scope shows; all of them must agree.
    pub predicates: Vec<RowPredicate>,
    /// Exact conditions that the scan decides itself, before any predicate; all of them must hold.
    pub items: Vec<ItemMatch>,
    /// The same with a choice: of each of these lists one condition must hold.
    pub either: Vec<Vec<Alternative>>,
    /// What can be told from statistics alone.
    pub prune: Prune,
    /// Whether the text of a decimal is wanted only where the number beside it is missing: `value` beside `value__number`.
    pub numbers_suffice: bool,
    /// The order in which a sort above the scan takes rows.
    pub order: Option<Order>,
    /// Only rows of these owners; `None` for all that the scope shows.
    pub owners: Option<Vec<i64>>,
    /// Only rows of this part of the table.
    pub stretch: Stretch,
}

/// One of several conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The condition.
    pub condition: ItemMatch,
    /// The owners under whom all rows lie that meet it, where that is known: no other row is asked.
    pub owners: Option<Arc<[i64]>>,
}

/// Whose rows a person's batch holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Person {
    /// All that a patient scope shows: its own rows and the shared rows they refer to. Of a scope without a patient: nothing.
    OfScope,
    /// The rows of one owner, as far as the scope shows them.
    Owner(i64),
    /// The rows of either owner, as far as the scope shows them.
    Either(i64, i64),
}
