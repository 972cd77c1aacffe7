//! Families of queries, and the values drawn for them.

pub(super) mod builtin;
pub(super) mod dice;
pub(super) mod mix;
pub(super) mod people;
pub(super) mod plan;
pub(super) mod pool;
pub(super) mod request;
pub(super) mod row;
pub(super) mod table;
pub(super) mod template;
pub(super) mod walk;
