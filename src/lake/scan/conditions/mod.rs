//! Decides on statistics, dictionary codes and columns which rows meet the conditions of a scan.

mod items;
pub(super) mod lower;
pub(super) mod owner_set;
pub(super) mod pruning;
pub(super) mod ranges;
pub(super) mod row_pruning;
