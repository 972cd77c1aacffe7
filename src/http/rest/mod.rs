//! The consent REST API: what an application may know about its patients' consents.
//!
//! An application token sees the consents of its application and mode. A patient token sees only its own consent. Any
//! other consent looks as if it did not exist. A key pair revokes consents of its application and mode.

mod consent;
mod cursor;
mod described;
mod list;
mod revoke;
mod routes;
mod shown;

pub(super) use routes::routes;
