//! Expressions and resources made at random.

pub(super) mod arranged;
pub(super) mod grammar;
pub(super) mod mutations;
pub(super) mod robust;
pub(super) mod rows;
