//! SMART Health Links. A link contains a URL and a key, and the patient can pass it on. It leads to the patient's
//! summary, or to all records as a health card.
//!
//! Patients create, list and revoke links at `/rest/health-links`. Recipients call `/health-links/{address}`.
//! `/health-link` is a page that opens a link in a browser. Only the link contains the key: the server encrypts the
//! file before it stores it, and drops the key after the response with the link.

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
