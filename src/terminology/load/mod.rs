//! Loads terminology in the layouts of its publishers: recognizes files by their content, and reads them into code
//! systems.
//!
//! `published` finds the files and reads their lines. If a line does not fit the layout of its file, the error names
//! the line. A file is loaded as a whole or not at all.

mod cvx;
mod fhir;
mod hcpcs;
mod icd10;
mod layout;
mod loinc;
mod national_drugs;
mod nucc;
mod part;
mod place_of_service;
mod run;
mod rxnorm;
mod snomed;
mod xml;

pub use run::{Loaded, LoadedSystem, load};
