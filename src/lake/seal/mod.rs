//! The keys of a sealed lake. Each sealed file has its own key in `keys.sqlite` beside the catalog. The key-encryption
//! key wraps these keys and is not in the folder. Without it nobody can read the folder. Once a file's key is
//! destroyed, nobody can read any copy of the file.
//!
//! This room makes, stores, finds and destroys keys, and opens sealed Parquet files (`open.rs`, `pages.rs`). Others
//! decide what to seal and when to destroy a key.

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
