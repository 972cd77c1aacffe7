//! Applications: their keys, the addresses that are theirs, and how often their patients' records are fetched anew.
//!
//! An application has a publishable key for each mode, and a secret key beside it unless the client is public. Keys
//! that were replaced no longer begin anything, once their time is over; tokens that they stand in live on.

mod addresses;
mod keys;
mod names;
mod record;
mod registration;
#[cfg(test)]
mod tests;

pub use keys::{Key, NewKeys};
pub use record::{Application, NewApplication, SyncFrequency};
pub use registration::REGISTRATION_SECONDS;
