//! Owners of rows, and scopes of callers.

pub mod owner;
pub mod scope;
