//! `tabularium fhirpath`: evaluates one expression over files, over a table of a lake, or without input. It uses the
//! same engine as search and views.

mod alone;
mod args;
mod command;
mod expression;
mod files;
mod lake;
mod result;

pub(in crate::cli) use args::Args;
pub(in crate::cli) use command::run;
