//! Applications: their keys, their addresses, and how often their patients' records are synced.
//!
//! An application has a publishable key for each mode, and a secret key unless the client is public. A replaced key
//! stops working after its grace period. Tokens that were issued to it stay valid.

mod addresses;
pub(in crate::consent) mod clients;
mod keys;
mod managed;
mod names;
mod record;
mod registration;
#[cfg(test)]
mod tests;

pub use addresses::{Origins, RedirectUris};
pub use clients::{Client, Clients};
pub use keys::{Key, NewKeys};
pub use managed::{ManagedRegistration, ManagedRegistrations, RegistrationUpdate, UpdatedRegistration};
pub use record::{Application, Applications, NewApplication, SyncFrequency};
pub(in crate::consent) use record::{about, known};
pub use registration::{REGISTRATION_SECONDS, RegistrationTokens};
