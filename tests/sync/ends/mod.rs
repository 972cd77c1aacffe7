//! The end of consents and of their records.

pub(super) mod clock;
pub(super) mod copied;
pub(super) mod ended;
pub(super) mod expunge;
pub(super) mod left;
pub(super) mod over;
mod told;
