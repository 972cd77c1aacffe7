//! SMART Health Links: the stored data of a link, its lifetime, and passcode tries.
//!
//! The store keeps the link's file in encrypted form and does not keep the link's key. So nobody can read the file from
//! the store, and it cannot be made again. A link ends when any record of its file is removed: its rows are deleted in
//! the same transaction, and [`HealthLinks::wipe_ended`] removes their bytes from the write-ahead log.

mod create;
mod end;
mod guess;
mod guesses;
mod passcode;
mod row;
mod visit;

pub use create::{LINKS_AT_ONCE, LinkRefusal, LinkTerms, NewHealthLink};
pub use guess::Guess;
pub use passcode::PASSCODE_ATTEMPTS;
pub use row::{HealthLink, HealthLinks, LinkContent};
pub use visit::LinkFile;

pub(in crate::consent) use end::{LINKS_OVER, end_links, over};
pub(in crate::consent) use guesses::Guesses;
