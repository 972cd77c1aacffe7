//! SMART Health Links: what the store keeps of one, how long it lasts, and how a passcode is tried.
//!
//! The file behind a link is kept as it is given out, encrypted under the link's key, and the key is not kept. So
//! nobody can read it from the store, and it cannot be made anew. A link ends with anything that its file was made
//! from: its rows go in the same transaction, and
//! [`Store::wipe_ended_links`](super::super::Store::wipe_ended_links) takes their bytes out of the write-ahead log.

mod create;
mod end;
mod guess;
mod passcode;
mod row;
mod visit;

pub use create::{LinkRefusal, LinkTerms, NewHealthLink};
pub use guess::Guess;
pub use row::{HealthLink, LinkContent};
pub use visit::LinkFile;

pub(in crate::consent) use end::{LINKS_OVER, end_links, over};
pub(in crate::consent) use guess::Guesses;

/// How many wrong passcodes a link stands in all its life.
pub const PASSCODE_ATTEMPTS: u32 = 10;
/// How many links a consent may have at a time.
pub const LINKS_AT_ONCE: u32 = 20;
