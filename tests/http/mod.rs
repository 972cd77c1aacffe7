//! The service over real HTTP: routes and bounds, versions that a client holds, codings, what the server says of itself.

mod coding;
mod conditional;
mod explain;
mod routes;
mod wishes;
