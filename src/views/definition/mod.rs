//! Reads ViewDefinitions, checks them, and resolves them against R4.

pub(super) mod advice;
pub(super) mod check;
pub(super) mod column;
pub(super) mod constants;
pub(super) mod element_path;
pub(super) mod finding;
pub(super) mod kind;
pub(super) mod metadata;
pub(super) mod name;
pub(super) mod raw;
pub(super) mod read;
pub(super) mod resolve;
pub(super) mod sql_type;
pub(super) mod union;
