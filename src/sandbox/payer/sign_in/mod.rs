//! Sign-in: OAuth, SMART scopes, and the identity provider.

pub(super) mod authorize;
pub(super) mod consent;
pub(super) mod grants;
pub(super) mod identity;
pub(super) mod key;
pub(super) mod login;
pub(super) mod scopes;
pub(super) mod token;
