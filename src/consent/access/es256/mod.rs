//! The P-256 keys for long-lived signatures: health cards and receipts of erasures.
//!
//! Each purpose has its own keys. A key signs for a year. Then its private half is destroyed and a new key replaces it.
//! Public halves stay, so that others can still verify their signatures.

mod key;
mod rows;

pub use key::PublicKey;
pub use rows::{Es256Keys, KeyPurpose};
pub(in crate::consent) use rows::{discard_unreadable, renew, signer};
