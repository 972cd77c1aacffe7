//! The necessary conditions of one filter: those that statistics can refute, and those that dictionary codes decide.

use std::sync::Arc;

use super::items::ItemMatch;
use super::prune::Prune;

/// Conditions that must hold for a row if the caller's condition is true of the row. A scan checks them without
/// evaluating the caller's condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Necessary {
    /// A condition that statistics can refute.
    pub prune: Prune,
    /// Conditions that dictionary codes decide exactly. All of them must hold.
    pub items: Vec<ItemMatch>,
    /// Lists of alternatives, which dictionary codes decide exactly. One alternative of each list must hold.
    pub either: Vec<Vec<Alternative>>,
    /// Whether `items` and `either` together are equivalent to the caller's condition. If so, the caller's condition
    /// need not be evaluated on rows that meet them.
    pub exact: bool,
}

/// One of several exact conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The condition.
    pub condition: ItemMatch,
    /// The owners of all rows that meet the condition, if known. The scan skips row groups without rows of these
    /// owners.
    pub owners: Option<Arc<[i64]>>,
}
