//! Whose rows are whose, and who asks.

pub mod owner;
pub mod scope;
