//! Loads terminology in its publishers' form: recognizes files by their content, and reads them into code systems.
//!
//! `published` finds the files and reads their lines. A line that does not fit its file's layout is an error that names
//! it. A file is loaded as a whole or not at all.

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
