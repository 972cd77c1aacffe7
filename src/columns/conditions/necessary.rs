//! The necessary conditions of one filter: those that statistics can refute, and those that dictionary codes decide.

use std::sync::Arc;

use super::decisive::Decisive;
use super::items::ItemMatch;
use super::prune::Prune;

/// Conditions that must hold for a row if the caller's condition is true of the row. A scan checks them without
/// evaluating the caller's condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Necessary {
    /// A condition that the scan can refute by statistics: it skips row groups and pages in which no row can meet it.
    pub prune: Prune,
    /// Conditions that the scan decides exactly, usually on dictionary codes. A row must meet all of them.
    pub items: Vec<ItemMatch>,
    /// Lists of alternatives that the scan decides exactly, usually on dictionary codes. A row must meet at least one
    /// alternative of each list.
    pub either: Vec<Vec<Alternative>>,
    /// Whether `items` and `either` together are equivalent to the caller's condition. If so, the caller's condition
    /// need not be evaluated on rows that meet them.
    pub exact: bool,
    /// The statistics' condition that decides the caller's condition in row groups where no row meets a
    /// [`Prune::Present`] of it. In such a row group the caller's condition is true of exactly the rows that meet this
    /// one. `None` if statistics do not decide it, so that the scan must evaluate the caller's condition.
    pub decides: Option<Decisive>,
}

/// One of several conditions that the scan decides exactly. A row must meet at least one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// The condition, which tests leaves of one item.
    pub condition: ItemMatch,
    /// The owners of all rows that meet the condition, if known. The scan does not check the condition in row groups
    /// without rows of these owners.
    pub owners: Option<Arc<[i64]>>,
}
