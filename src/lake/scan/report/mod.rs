//! Reports of scans, for `explain`.

pub(super) mod account;
pub(super) mod counts;
pub(super) mod watch;
