//! Services that are killed, restored, or that write while others write.

pub(super) mod killed;
pub(super) mod moments;
pub(super) mod races;
pub(super) mod restored;
pub(super) mod sealed;
pub(super) mod service;
