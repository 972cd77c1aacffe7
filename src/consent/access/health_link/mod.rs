//! SMART Health Links: the stored data of a link, its lifetime, and passcode tries.
//!
//! The store has the link's file in encrypted form, but not the key. So nobody can decrypt the file from the store
//! alone. A link ends when any record of its file is removed. Its rows are deleted in the transaction that requests
//! the removal, and [`HealthLinks::wipe_ended`] removes their bytes from the write-ahead log.

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
