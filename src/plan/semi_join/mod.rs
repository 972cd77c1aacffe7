//! Semi-joins: the set of ids from one side, the dynamic filter of the other side, and the operator between them.

mod dynamic_filter;
mod exec;
mod ids;
mod nodes;

pub use dynamic_filter::{DynamicFilter, DynamicFilters, Link};
pub use exec::{On, SemiJoinExec};
pub use ids::{IdsExec, Take};
pub use nodes::{Ids, SemiJoin, SemiJoinPlanner};
