//! The service over real HTTP: routes and bounds, versions that a client holds, codings, what the server says of
//! itself.

mod declared;
mod explain;
mod guarded;
mod public;
mod reads;
mod routes;
