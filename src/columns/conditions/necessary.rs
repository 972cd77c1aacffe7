//! The necessary conditions of a row: ranges and values that statistics refute, items that dictionary codes decide.

use std::sync::Arc;

use super::items::ItemMatch;
use super::prune::Prune;

/// What must hold of a row for a condition to be true of it, as far as a scan can tell without evaluating the
/// condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Necessary {
    /// What statistics can refute.
    pub prune: Prune,
    /// Conditions that dictionary codes decide exactly. All of them must hold.
    pub items: Vec<ItemMatch>,
    /// The same with a choice: of each of these lists one must hold.
    pub either: Vec<Vec<Alternative>>,
    /// Whether `items` and `either` together are the whole condition, so that rows that meet them need not be asked.
    pub exact: bool,
}

/// One of several exact conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The condition.
    pub condition: ItemMatch,
    /// The owners under whom all rows are that meet it, where that is known: no other row is asked.
    pub owners: Option<Arc<[i64]>>,
}
