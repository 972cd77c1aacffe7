//! The RSA keys that sign access tokens: which one signs, which ones verify, how they are stored, and which ones are
//! discarded.

mod discard;
pub(in crate::consent) mod keys;
pub(in crate::consent) mod rows;
pub(in crate::consent) mod signing_keys;
