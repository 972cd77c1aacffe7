//! A seeded synthetic population, written as any payer would send it. All people, providers and numbers are made up,
//! and the few codes are used as facts. It decides what a plausible record of a person holds; it does not model
//! medicine.

pub mod app;
mod billing;
mod clinical;
mod output;
pub mod payer;
mod people;

pub use output::folder::{FolderError, Written, write_ndjson};
pub use output::records::{Record, Records};
pub use people::population::Population;
