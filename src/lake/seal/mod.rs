//! The keys of a sealed lake. Each sealed file has its own key in `keys.sqlite` beside the catalog. The key-encryption
//! key wraps these keys and is not in the folder. Without it nobody can read the folder. After a file's key was
//! destroyed, nobody can read any copy of the file.
//!
//! This module makes, stores, finds and destroys keys, and opens sealed Parquet files (`file/open.rs`,
//! `file/pages.rs`). Other modules decide which files are sealed and when a key is destroyed.

mod cipher;
mod database;
mod error;
mod file;
mod files;
mod kek;
mod key;
mod key_id;
mod keys;
mod kind;
mod secret;
#[cfg(test)]
mod tests;
mod wrap;

pub(in crate::lake) use cipher::{AROUND, PieceCipher};
pub(in crate::lake) use database::copy::{discard_database, remove_database, remove_unused};
pub use database::rotate::Rotated;
pub use database::store::{FILE as KEYS_FILE, KeyStore};
pub use error::SealError;
pub use kek::{KEK_VARIABLE, Kek, KekSource};
pub use key::{FileKey, KEY_BYTES};
pub use key_id::KeyId;
pub use keys::Keys;
pub use kind::Kind;

#[cfg(test)]
use file::open::OpenSealed;
pub(in crate::lake) use file::open::{SEALED_MAGIC, encryption, hold_key, is_sealed, open};
pub(in crate::lake) use file::pages::SealedPages;
