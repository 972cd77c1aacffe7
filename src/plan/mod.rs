//! Plans: the planner with the few rules that our plans need, the operators that DataFusion does not have, and the
//! threads and the memory that plans share.
//!
//! It knows tables of `lake::scan` and ids, but neither searches nor views. These add their own operators. The builder
//! of a plan says what ids mean for a row.

mod ahead;
mod ids;
mod late;
mod limit;
mod lookup;
mod memory;
mod nodes;
mod ordered;
mod planner;
mod reserved;
mod semi_join;
mod shown;
mod spill;
mod threads;
mod top_k;

pub use ahead::{Ahead, Died, Pace, Part, Parts};
pub use ids::{IdsExec, Take};
pub use late::{Late, Lates, Link};
pub use limit::{Limit, OrderedLimit};
pub use lookup::{Lookup, LookupExec};
pub use memory::runtime;
pub use nodes::{Ids, SemiJoin, SemiJoinPlanner};
pub use ordered::OrderedLimitExec;
pub use planner::{Operator, Planned, Planner};
pub use reserved::{ReserveWindows, ReservedExec};
pub use semi_join::{On, SemiJoinExec};
pub use shown::plan_text;
pub use spill::spilling;
pub use threads::{Waiting, apart, at_once};
pub use top_k::PushDownTopK;
