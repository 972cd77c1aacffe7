//! The service over real HTTP: routes and bounds, versions that a client holds, codings, what the server says of itself.

mod coding;
mod conditional;
mod drawn;
mod explain;
mod metadata;
mod routes;
mod wishes;
