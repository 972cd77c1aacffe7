//! Terminology as its publishers ship it: files are recognised by what is in them, and read into code systems.
//!
//! A file's name decides nothing but a version that stands in it. Text is UTF-8, or else Windows-1252, as CMS, FDA and NUCC write it.
//! A line that does not have its file's layout is an error that names it; a file is taken whole or not at all.

mod csv_table;
mod cvx;
mod fhir;
mod hcpcs;
mod icd10;
mod layout;
mod lines;
mod loinc;
mod name;
mod national_drugs;
mod nucc;
mod part;
mod place_of_service;
mod run;
mod rxnorm;
mod snomed;
mod xml;

pub use run::{Loaded, LoadedSystem, load};
