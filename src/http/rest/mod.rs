//! The consent REST API: the facts that an application may know about its patients' consents.
//!
//! An application token sees the consents of its application and mode, a patient token its own. Any other consent looks
//! as if it did not exist.

mod consent;
mod cursor;
mod described;
mod list;
mod routes;
mod shown;

pub(super) use routes::routes;
