//! Credentials: tokens and the keys that sign them, codes, encrypted secrets, health cards and health links.

pub(super) mod access_tokens;
pub(super) mod cards;
pub(super) mod console;
pub(super) mod credential;
pub(super) mod es256;
pub(super) mod given_out;
pub(super) mod grant;
pub(super) mod health_link;
pub(super) mod lifetime;
pub(super) mod rs256;
pub(super) mod seal;
pub(super) mod secret;
pub(super) mod signed_address;
pub(super) mod token;
pub(super) mod verified;
pub(super) mod wipe;
