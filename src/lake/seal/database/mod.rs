//! The keys database `keys.sqlite`: its rows, its copies, a new key-encryption key, and what destroyed keys leave
//! behind.

pub(super) mod copy;
pub(super) mod rotate;
pub(super) mod scrub;
pub(super) mod store;
