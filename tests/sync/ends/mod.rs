//! The end of consents and of their records.

pub(super) mod ended;
pub(super) mod expunge;
pub(super) mod over;
