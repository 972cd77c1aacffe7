//! The necessary conditions of a row: ranges and values that statistics refute, items that dictionary codes decide.

use std::sync::Arc;

use super::items::ItemMatch;
use super::prune::Prune;

/// What must hold of a row if a condition is true of it. A scan can check it without evaluating the condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Necessary {
    /// The condition that statistics can refute.
    pub prune: Prune,
    /// Conditions that dictionary codes decide exactly. All of them must hold.
    pub items: Vec<ItemMatch>,
    /// Alternatives of exact conditions. From each list one must hold.
    pub either: Vec<Vec<Alternative>>,
    /// Whether `items` and `either` together are the whole condition. Then the condition need not be evaluated on rows
    /// that meet them.
    pub exact: bool,
}

/// One of several exact conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The condition.
    pub condition: ItemMatch,
    /// The owners of all rows that meet it, if known. Rows of other owners are not checked.
    pub owners: Option<Arc<[i64]>>,
}
