//! The keys of a sealed lake: each sealed file has a key of its own, kept in `keys.sqlite` beside the catalog and
//! wrapped there by the key-encryption key, which is not in the folder. Whoever has the folder without that key reads
//! nothing. Nobody reads a file whose key was destroyed, whichever copies of the file there are.
//!
//! This room makes, keeps, finds and destroys keys, and opens Parquet files that were sealed with them (`open.rs`,
//! `pages.rs`). What is sealed, and when a key goes, others decide.

mod announcement;
mod cipher;
mod copy;
mod error;
mod files;
mod kek;
mod key;
mod keys;
mod kind;
mod open;
#[cfg(test)]
mod page_tests;
mod pages;
mod rotate;
mod scrub;
mod store;
#[cfg(test)]
mod tests;
mod wrap;

pub(in crate::lake) use cipher::{AROUND, PieceCipher};
pub(in crate::lake) use copy::remove_database;
pub use error::SealError;
pub use kek::{KEK_VARIABLE, Kek, KekSource};
pub use key::{FileKey, KEY_BYTES, KeyId};
pub use keys::Keys;
pub use kind::Kind;
pub use rotate::Rotated;
pub use store::{FILE as KEYS_FILE, KeyStore};

#[cfg(test)]
use open::OpenSealed;
pub(in crate::lake) use open::{SEALED_MAGIC, encryption, hold_key, is_sealed, open};
pub(in crate::lake) use pages::SealedPages;
