//! The one writer: what becomes a snapshot, and what does not.

pub(super) mod lock;
pub(super) mod lost;
pub(super) mod mark;
pub(super) mod orphans;
pub(super) mod trace;
pub(super) mod transaction;
pub(super) mod writer;
pub(super) mod written;
