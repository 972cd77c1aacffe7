//! The International Patient Summary: what each section keeps, and what every document holds whatever the records are.

mod allergies_and_problems;
mod command;
mod document;
mod doors;
mod harness;
mod medications;
mod observations;
mod other_sections;
mod people;
mod properties;
mod references;
