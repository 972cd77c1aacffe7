//! A limit on rows in the table's own order: the node of logical plans and its operator.

mod exec;
mod node;

pub use exec::OrderedLimitExec;
pub(in crate::plan) use node::Ordered;
pub use node::{Limit, OrderedLimit};
