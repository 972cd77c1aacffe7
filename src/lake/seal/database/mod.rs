//! The keys database `keys.sqlite`: its rows, its copies, the rotation to another key-encryption key, and the
//! overwriting of destroyed keys.

pub(super) mod copy;
pub(super) mod registered;
pub(super) mod rotate;
pub(super) mod scrub;
pub(super) mod store;
