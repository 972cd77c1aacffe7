//! The keys database `keys.sqlite`: its rows, its copies, a new key-encryption key, and the remains of destroyed keys.

pub(super) mod copy;
pub(super) mod registered;
pub(super) mod rotate;
pub(super) mod scrub;
pub(super) mod store;
