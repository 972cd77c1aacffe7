//! The service over real HTTP: routes and limits, conditional requests, content codings, and its metadata.

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
