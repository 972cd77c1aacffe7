//! Columns that R4 resources become: which there are, and how JSON turns into them.

pub mod json;
pub mod layout;
pub mod shape;
pub mod shred;
