//! The typed facts of claims, whatever their dialect.

pub(super) mod claim;
pub(super) mod code;
pub(super) mod facts;
pub(super) mod own;
pub(super) mod party;
pub(super) mod services;
pub(super) mod text;
