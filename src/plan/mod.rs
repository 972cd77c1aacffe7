//! Plans: the planner with the few rules that our plans need, the operators that DataFusion does not have, and the
//! threads and the memory that plans share.
//!
//! It knows tables of `lake::scan` and ids. It does not know searches or views, which add their own operators. The
//! builder of a plan defines what ids mean for a row.

mod child;
mod display;
mod lookup;
mod memory;
mod ordered_limit;
mod planner;
mod semi_join;
mod threads;
mod top_k;

pub use child::only_child;
pub use display::{plan_text, scans_of, scans_text};
pub use lookup::{Lookup, LookupExec};
pub use memory::{ReserveWindows, ReservedExec, SortPool, runtime, sorts_by_several_keys, spilling};
pub use ordered_limit::{Limit, OrderedLimit, OrderedLimitExec};
pub use planner::{Operator, Planned, Planner};
pub use semi_join::{
    DynamicFilter, DynamicFilters, Ids, IdsExec, Link, On, SemiJoin, SemiJoinExec, SemiJoinPlanner, Take,
};
pub use threads::{Died, Pace, Part, Parts, Prefetch, Waiting, apart, at_once};
pub use top_k::PushDownTopK;
