//! The threads of plans, and the prefetching of results on these threads.

mod prefetch;
mod runtime;

pub use prefetch::{Pace, Part, Parts, Prefetch};
pub use runtime::{Died, Waiting, apart, at_once};
