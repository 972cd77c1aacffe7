//! Families over single values.

pub(super) mod boundaries;
pub(super) mod conversion;
pub(super) mod dates;
pub(super) mod math;
pub(super) mod regex;
pub(super) mod strings;
pub(super) mod temporal;
