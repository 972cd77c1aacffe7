//! The service over real HTTP: routes and limits, conditional requests, content codings, and its metadata.

mod declared;
mod explain;
mod guarded;
mod public;
mod reads;
mod routes;
