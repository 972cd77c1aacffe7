//! The threads that plans run on, and parts of a work that run ahead on them.

mod prefetch;
mod runtime;

pub use prefetch::{Pace, Part, Parts, Prefetch};
pub use runtime::{Died, Waiting, apart, at_once};
