//! The measured server, and the connections to it.

pub(super) mod child;
pub(super) mod chunks;
pub(super) mod client;
pub(super) mod connection;
pub(super) mod target;
pub(super) mod tls;
