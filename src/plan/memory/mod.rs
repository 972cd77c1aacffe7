//! The memory that all plans share, and the disk to which sorts spill.

mod pool;
mod reserved;
mod spill;

pub use pool::runtime;
pub use reserved::{ReserveWindows, ReservedExec};
pub use spill::spilling;
