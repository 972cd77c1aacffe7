//! Conditions on rows: which rows they match, which columns they read, and which of them a scan can decide.

pub(super) mod canonicals;
pub(super) mod compartment;
pub(super) mod criterion;
pub(super) mod filter;
pub(super) mod hierarchy;
pub(super) mod inside;
pub(super) mod key_function;
pub(super) mod matcher;
pub(super) mod origin;
pub(super) mod plain_columns;
pub(super) mod predicate;
pub(super) mod pushdown;
pub(super) mod sort;
pub(super) mod targets;
pub(super) mod tuples;
pub(super) mod words;
