//! Parts that several answers about a consent share: user, endpoint, usage, sync with its counts, the time until a
//! patient must authorize again.
//!
//! Each is one value here, so the OAuth, link and REST answers cannot differ. Each answer decides which of them it has.

mod counts;
pub(super) mod described;
mod introspection;
mod json;
mod parts;

pub(super) use counts::Counts;
pub(super) use introspection::{Surface, introspection};
pub(super) use json::{no_store, seconds_left};
pub(super) use parts::{Endpoint, Sync, User, max_auth, sync, usage};
