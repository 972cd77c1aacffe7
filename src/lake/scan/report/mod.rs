//! Reports of scans, for `explain`.

pub(super) mod account;
pub(super) mod counts;
mod shown;
pub(super) mod watch;
