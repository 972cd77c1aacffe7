//! The memory that all plans share, and the disk that sorts fall back on.

mod pool;
mod reserved;
mod spill;

pub use pool::runtime;
pub use reserved::{ReserveWindows, ReservedExec};
pub use spill::spilling;
