//! The running organizations, and the settings that tests change.

pub(super) mod admin;
pub(super) mod knobs;
pub(super) mod locator;
pub(super) mod organization;
pub(super) mod people;
pub(super) mod server;
pub(super) mod state;
pub(super) mod world;
