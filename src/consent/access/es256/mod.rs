//! The P-256 keys for long-lived signatures: of health cards and of receipts for erasures.
//!
//! Each purpose has its own keys. After a key has signed for a year, a new key replaces it and its private half is
//! deleted. The public half stays, so that others can still verify its signatures.

mod key;
mod rows;

pub use key::PublicKey;
pub use rows::{Es256Keys, KeyPurpose};
pub(in crate::consent) use rows::{discard_unreadable, renew, signer};
