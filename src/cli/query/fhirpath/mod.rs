//! `tabularium fhirpath`: one expression over a resource, over many in files, or over a table of a lake. It uses the
//! same engine as search and views.

mod alone;
mod args;
mod expression;
mod files;
mod lake;
mod result;

use super::super::terminal::failure::Failure;

pub(in crate::cli) use args::Args;

/// Evaluates the expression, or explains it.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    let options = arguments.options()?;
    match &arguments.data {
        Some(data) => lake::run(&arguments, data, &options),
        None if arguments.input.is_empty() => alone::run(&arguments, &options),
        None => files::run(&arguments, &options),
    }
}
