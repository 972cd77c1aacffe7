//! The ledger of erasures: a file outside the data folder. It lists what was erased, so that a restored backup does
//! not bring erased people back.
//!
//! The first backup creates the ledger and records its id in the catalog. From then on each erasure is entered before
//! the catalog forgets it (`enter`). If the ledger is not at its path, no erasure of the lake finishes.
//!
//! An entry holds hashes and no ids (`hashes`). Each hash needs both the ledger's salt and the lake's owner key. So
//! neither the ledger alone nor a backup alone is enough to test a guess.
//!
//! Each line has a checksum over all of the file before it (`lines`), so a changed, lost or added byte is noticed. Each
//! entry has its number among the lake's entries. The transaction that ends an erasure stores the number and the
//! checksum of the lake's last entry in the catalog ([`Entered`]). A ledger that lacks this entry is an older copy, or
//! another one.
//!
//! A killed writer may leave an incomplete last line, and beside the ledger a note with the whole line (`entering`).
//! The next writer of any lake completes the line from the note, and readers take it as complete. Without the note,
//! the next writer of the same lake cuts the line off, but only if all entries that the catalog knows are complete.
//! Then the erasure of the incomplete line has not ended, so it is entered again. Everybody else refuses the ledger.

mod enter;
mod entering;
mod hashes;
mod lines;
mod place;
mod read;
#[cfg(test)]
mod tests;

pub(in crate::lake) use enter::{enter, entered_at_place, for_backup};
pub(crate) use hashes::lake_id;
pub use hashes::{ErasedSince, Whose};
pub use lines::Entered;
pub use place::{VARIABLE, place};
pub use read::{Ledger, LedgerState};
