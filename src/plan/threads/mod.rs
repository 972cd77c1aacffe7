//! The threads of plans, and the prefetching of results on these threads.

mod pause;
mod prefetch;
mod runtime;

pub use pause::Pause;
pub use prefetch::{Pace, Part, Parts, Prefetch};
pub use runtime::{Died, Waiting, apart, at_once, wait};
