//! Necessary conditions: what must hold of a row if a condition is true of the row. The row's columns show this without
//! an evaluation of the condition. FHIRPath and the criteria of a search state them, and a scan uses them to skip rows.
//!
//! This room reads no files. The scan of the lake decides which row groups, pages and rows a condition refutes.

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
