//! SMART Health Links: a patient's summary, or all records as a health card, behind an address and a key that the
//! patient can pass on.
//!
//! `/rest/health-links` makes, lists and revokes links. Recipients call `/health-links/{address}`. `/health-link` is a
//! page that opens a link in a browser. Only the link contains the key: the file is encrypted before it is stored, and
//! the server drops the key after the answer with the link.

mod answers;
mod create;
mod described;
mod file;
mod jwe;
mod manage;
mod page;
mod qr;
mod request;
mod resolve;
mod routes;
mod shlink;

pub(super) use routes::{patient_routes, recipient_routes};
