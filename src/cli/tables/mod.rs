//! Commands for the rules of normalization, and for the tables that the rules use.

pub(super) mod normalize;
pub(super) mod plans;
pub(super) mod terminology;
