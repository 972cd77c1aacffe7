//! Rules of normalization and the tables that they use.

pub(super) mod normalize;
pub(super) mod plans;
pub(super) mod terminology;
