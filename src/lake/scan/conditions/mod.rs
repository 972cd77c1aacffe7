//! Lowered filters: statistics, dictionary codes, ranges of rows.

mod items;
pub(super) mod lower;
pub(super) mod owner_set;
pub(super) mod pruning;
pub(super) mod ranges;
pub(super) mod sieve;
