//! A limit on rows in the table's own order: the node of logical plans, and its operator.

mod exec;
mod limit;
mod node;

pub use exec::OrderedLimitExec;
pub use limit::Limit;
pub(in crate::plan) use node::Ordered;
pub use node::OrderedLimit;
