//! A synthetic population that is generated from a seed, organizations that serve its records for tests and demos, and
//! a sample application that reads them. All people, providers and numbers are invented. The records look plausible,
//! but they do not model medicine.

pub mod app;
mod billing;
mod clinical;
mod output;
pub mod payer;
mod people;

pub use output::folder::{FolderError, Written, write_ndjson};
pub use output::records::{Record, Records};
pub use people::population::Population;
