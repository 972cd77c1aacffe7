//! How questions of tables become plans that run: the planner with the few rules that such plans need, the operators
//! that DataFusion does not have, and the threads and the memory that plans share.
//!
//! It knows tables as `lake::scan` gives them, and neither searches nor views: these bring operators of their own, and
//! the planner takes them.

mod ahead;
mod limit;
mod memory;
mod ordered;
mod planner;
mod shown;
mod threads;

pub use ahead::{Ahead, Died, Pace, Part, Parts};
pub use limit::{Limit, OrderedLimit};
pub use memory::runtime;
pub use ordered::OrderedLimitExec;
pub use planner::{Operator, Planned, Planner};
pub use shown::shown;
pub use threads::{Waiting, apart};
