//! Generates resources from claims and Coverage.
//!
//! Decides which claims describe the same prescription, Encounter, diagnosis and procedure, and when a source's own
//! record replaces a generated one. Each rule has a file. A claim is read once into typed facts. Rules read no JSON.

mod condition;
mod encounter;
mod insurance_plan;
mod medication_request;
mod out;
mod procedure;
mod provenance;
mod read;
mod tables;
mod visits;

pub use read::facts::Facts;
