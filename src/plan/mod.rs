//! The planner with the few rules that the engine's plans need, the operators that DataFusion lacks, and the threads
//! and the memory that all plans share.
//!
//! This module knows the tables of `lake::scan` and sets of ids. It does not know searches or views; they add operators
//! of their own. The caller who builds a semi-join decides which rows match an id (`Link`).

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
pub use threads::{Died, Pace, Part, Parts, Pause, Prefetch, Waiting, apart, at_once, wait};
pub use top_k::PushDownTopK;
