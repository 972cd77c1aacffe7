//! `tabularium fhirpath`: one expression over a resource, over many in files, or over a table of a lake. It uses the
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
