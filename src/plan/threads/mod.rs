//! The threads of plans, and work that runs ahead on them.

mod prefetch;
mod runtime;

pub use prefetch::{Pace, Part, Parts, Prefetch};
pub use runtime::{Died, Waiting, apart, at_once};
