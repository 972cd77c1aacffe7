//! Generates resources from claims and Coverage.
//!
//! Decides which claims describe the same prescription, Encounter, diagnosis or procedure, and when a source's own
//! record takes the place of a generated one. Each rule has its own file. Each claim is read once into typed facts. The
//! rules use these facts and read no JSON.

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
