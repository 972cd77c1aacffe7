//! Conditions on other resources, which run as semi-joins.

pub(super) mod binding;
pub(super) mod canonical;
pub(super) mod chain;
pub(super) mod dynamic_filter;
pub(super) mod join;
pub(super) mod join_side;
pub(super) mod other;
