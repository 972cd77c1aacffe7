//! A seeded synthetic population, written as any payer would send it.
//!
//! It is made up: people, providers and numbers are nobody's, and the few codes are used as facts. It decides what a
//! plausible record of a person holds; it does not model medicine.

mod adjudication;
mod allergies;
pub mod app;
mod calendar;
mod care;
mod chart;
mod claims;
mod codes;
mod conditions;
mod coverage;
mod datatypes;
mod devices;
mod diagnoses;
mod dice;
mod directory;
mod documents;
mod drugs;
mod encounters;
mod folder;
mod immunizations;
mod json;
mod labs;
mod medications;
mod names;
mod observations;
mod organizations;
mod patient;
pub mod payer;
mod pharmacy;
mod population;
mod procedures;
mod profile;
mod provenance;
mod records;
mod reports;
mod story;
mod vitals;

pub use folder::{FolderError, Written, write_ndjson};
pub use population::Population;
pub use records::{Record, Records};
