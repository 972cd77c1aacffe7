//! Services and sources on loopback, and those who use them.

#[allow(dead_code)]
pub(crate) mod consented;
pub(crate) mod payer;
#[allow(dead_code)]
pub(crate) mod rogue;
pub(crate) mod server;
pub(crate) mod surfer;
