//! Families over collections.

pub(super) mod combining;
pub(super) mod control;
pub(super) mod existence;
pub(super) mod filtering;
pub(super) mod nodes;
pub(super) mod subsetting;
