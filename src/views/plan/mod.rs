//! Views as operators of plans and as SQL tables.

pub(super) mod exec;
pub(super) mod node;
pub(super) mod predicate;
pub(super) mod several;
pub(super) mod sought;
pub(super) mod table;
pub(super) mod typed;
