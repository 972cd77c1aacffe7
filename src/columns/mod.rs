//! The columns of R4 resources: which columns there are, how JSON becomes columns, and which conditions scans can
//! check.

pub mod conditions;
pub mod json;
pub mod layout;
pub mod shape;
pub mod shred;
