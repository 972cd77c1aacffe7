//! The server, and commands about its stored data: applications, sources, consents, keys, tokens.

pub(super) mod app;
pub(super) mod audit;
pub(super) mod bench;
pub(super) mod consents;
pub(super) mod console;
pub(super) mod data_store;
pub(super) mod demo;
pub(super) mod endpoint;
pub(super) mod keys;
pub(super) mod listen;
pub(super) mod mode;
pub(super) mod receipt;
pub(super) mod sandbox;
pub(super) mod serve;
pub(super) mod sync;
pub(super) mod token;
