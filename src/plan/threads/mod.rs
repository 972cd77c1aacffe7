//! The threads of plans, and work that runs ahead on them.

mod prefetch;
mod runtime;

pub use prefetch::{Ahead, Pace, Part, Parts};
pub use runtime::{Died, Waiting, apart, at_once};
