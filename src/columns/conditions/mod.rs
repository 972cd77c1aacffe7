//! What must hold of a row for a condition to be true of it, as far as its columns tell without the condition being
//! evaluated. FHIRPath and the criteria of a search say it, and a scan uses it to skip rows.
//!
//! It reads no files: which row groups, pages and rows a condition refutes, the scan of the lake decides.

mod id_set;
mod items;
mod necessary;
mod prune;

pub use id_set::IdSet;
pub(crate) use id_set::hash_id;
pub(crate) use items::MAX_ALTERNATIVES;
pub use items::{ItemMatch, LeafTest};
pub use necessary::{Alternative, Necessary};
pub use prune::Prune;
