//! The service over real HTTP: routes and bounds, versions that a client holds, codings, what the server says of
//! itself.

mod answers;
mod binary;
mod coding;
mod compartment;
mod conditional;
mod crowds;
mod directory;
mod discovery;
mod drawn;
mod explain;
mod metadata;
mod parts;
mod protection;
mod provider_directory;
mod routes;
mod throttle;
mod wishes;
