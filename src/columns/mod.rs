//! The columns of R4 resources: which there are, how JSON becomes columns, and which conditions can be put on them.

pub mod conditions;
pub mod json;
pub mod layout;
pub mod shape;
pub mod shred;
