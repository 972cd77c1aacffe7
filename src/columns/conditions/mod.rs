//! Necessary conditions. Such a condition must hold for a row if the caller's own condition is true of the row. It is
//! cheap to check, because it needs only the row's columns and no evaluation of the caller's condition. FHIRPath
//! programs and search criteria state necessary conditions, and a scan uses them to skip rows.
//!
//! This module reads no files. The lake's scan decides which row groups, pages and rows cannot meet a condition.

mod decisive;
mod id_set;
mod items;
mod necessary;
mod prune;

pub use decisive::Decisive;
pub use id_set::IdSet;
pub(crate) use id_set::hash_id;
pub(crate) use items::MAX_ALTERNATIVES;
pub use items::{ItemMatch, LeafTest};
pub use necessary::{Alternative, Necessary};
pub use prune::Prune;
