//! Readers and checks that share no code with the program.

pub(crate) mod conformance;
pub(crate) mod json;
pub(crate) mod report;
pub(crate) mod schema;
