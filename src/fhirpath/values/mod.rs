//! Items, their columns, and computed values.

pub(super) mod builder;
pub(super) mod calendar;
pub(super) mod collection;
pub(super) mod columns;
pub(super) mod items;
pub(super) mod literal;
pub(super) mod number;
pub(super) mod quantity;
pub(super) mod scalar;
pub(super) mod temporal;
pub(super) mod truth;
pub(super) mod units;
