//! Terminology as its publishers ship it: files are recognised by what is in them, and read into code systems.
//!
//! `published` finds the files and reads their lines. A line that does not have its file's layout is an error that
//! names it; a file is taken whole or not at all.

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
