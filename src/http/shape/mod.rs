//! Members that several responses about a consent share: user, endpoint, usage, sync with its counts, and the time
//! until the patient must authorize again.
//!
//! Each member is built in one place, so the OAuth, link and REST APIs cannot differ. Each API chooses the members of
//! its responses.

mod counts;
pub(super) mod described;
mod introspection;
mod json;
mod missing;
mod parts;

pub(super) use counts::Counts;
pub(super) use introspection::{Surface, introspection};
pub(super) use json::{no_store, seconds_left};
pub(super) use missing::{kind_of, notes};
pub(super) use parts::{Endpoint, Sync, User, max_auth, sync, usage};
