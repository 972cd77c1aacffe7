//! The memory that all plans share, and the spill files of sorts.

mod pool;
mod reserved;
mod sort_pool;
mod spill;

pub use pool::runtime;
pub use reserved::{ReserveWindows, ReservedExec};
pub use sort_pool::{SortPool, sorts_by_several_keys};
pub use spill::spilling;
