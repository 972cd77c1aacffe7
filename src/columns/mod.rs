//! Columns that R4 resources become: which there are, how JSON turns into them, and what conditions ask of them.

pub mod conditions;
pub mod json;
pub mod layout;
pub mod shape;
pub mod shred;
