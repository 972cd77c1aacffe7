//! Semi-joins: the plans that collect ids, the dynamic filter that the ids become, and the operator that runs the plans
//! and sets the filter.

mod dynamic_filter;
mod exec;
mod ids;
mod nodes;

pub use dynamic_filter::{DynamicFilter, DynamicFilters, Link};
pub use exec::{On, SemiJoinExec};
pub use ids::{IdsExec, Take};
pub use nodes::{Ids, SemiJoin, SemiJoinPlanner};
