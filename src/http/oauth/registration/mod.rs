//! Dynamic registration of clients: `register` makes a registration (RFC 7591), `manage` reads, changes and ends it
//! (RFC 7592).
//!
//! A registration belongs to one application and one mode. `metadata` has the members that the RFCs define, and `own`
//! the members that only this service has.

mod described;
mod information;
mod manage;
mod metadata;
mod own;
mod register;
mod routes;
mod token;

pub(super) use routes::routes;
