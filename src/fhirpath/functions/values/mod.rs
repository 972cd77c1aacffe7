//! Functions on strings, numbers, dates and quantities.

pub(super) mod boundaries;
pub(super) mod clock;
pub(super) mod conversion;
pub(super) mod dates;
pub(super) mod math;
pub(super) mod regex;
pub(super) mod strings;
