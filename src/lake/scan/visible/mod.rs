//! Decides which rows a scope shows.

pub(super) mod count;
pub(super) mod erased;
pub(super) mod mentions;
pub(super) mod shared_rows;
mod shared_search;
mod system_column;
pub(super) mod system_columns;
