//! The P-256 keys that sign what other people's programs verify long afterwards: health cards and receipts of erasures.
//!
//! Each purpose has keys of its own. One signs for a year. Then its private half is destroyed and another key takes its
//! place. Public halves stay, since others keep what they verify.

mod key;
mod rows;

pub use key::PublicKey;
pub use rows::KeyPurpose;
pub(in crate::consent) use rows::{discard_unreadable, renew, signer};
