//! The International Patient Summary: the records of each section, and properties of every document.

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
