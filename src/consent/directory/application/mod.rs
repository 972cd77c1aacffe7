//! Applications: their keys, their addresses, and how often their patients' records are synced.
//!
//! An application has a publishable key for each mode, and a secret key unless the client is public. After its grace
//! period a replaced key cannot begin anything new; tokens that name it stay valid.

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
