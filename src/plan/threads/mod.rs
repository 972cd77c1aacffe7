//! The threads that plans run on, and parts of a work that run ahead on them.

mod prefetch;
mod runtime;

pub use prefetch::{Ahead, Pace, Part, Parts};
pub use runtime::{Died, Waiting, apart, at_once};
