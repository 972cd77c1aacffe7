//! Resources made from claims and Coverage.
//!
//! Decides which claims tell of one prescription, one Encounter, one diagnosis and one procedure, and when a source's own record stands
//! in for a generated one. Each rule has a file. A claim is read once into typed facts; rules read no JSON.

mod bill_type;
mod claim;
mod code;
mod condition;
mod encounter;
mod facts;
mod insurance_plan;
mod medication_request;
mod out;
mod own;
mod party;
mod place_of_service;
mod plan_table;
mod procedure;
mod provenance;
mod revenue;
mod services;
mod text;
mod visits;

pub use facts::Facts;
