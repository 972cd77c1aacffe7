//! Nodes and operators of plans that searches have beside those of DataFusion, and how one becomes the other.
//!
//! They know tables and ids, and nothing of FHIR search: what ids mean for a row is told by whoever builds a plan.

mod ids;
mod late;
mod lookup;
mod nodes;
mod semi_join;

pub use ids::{IdsExec, Take};
pub use late::{Late, Link};
pub use lookup::{Lookup, LookupExec};
pub use nodes::{Ids, SemiJoin, SemiJoinPlanner};
pub use semi_join::{On, SemiJoinExec};
