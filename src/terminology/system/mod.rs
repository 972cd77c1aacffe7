//! A code system's concepts, in columns.

pub(super) mod builder;
pub(super) mod code_system;
pub(super) mod filter;
pub(super) mod links;
pub(super) mod properties;
mod resource;
pub(super) mod table;
pub(super) mod texts;
