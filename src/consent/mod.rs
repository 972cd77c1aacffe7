//! Who may ask: applications, their clients, consents, signing keys and access tokens, in a SQLite store of their own
//! (`service.sqlite`) beside the lake.
//!
//! This room decides which [`crate::lake::Scope`] a bearer token stands for. It holds no records and reads none.

mod access;
mod clock;
mod error;
mod keys;
mod migrations;
mod store;
mod token;

pub use crate::ingest::LOCAL_APPLICATION;
pub use access::Access;
pub use clock::Clock;
pub use error::{Error, Refusal};
pub use store::{Client, Store};
pub use token::{Issued, Tokens, issuer};
