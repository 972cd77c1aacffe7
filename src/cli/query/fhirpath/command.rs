//! Chooses the input of the expression: a lake, files, or none.

use super::args::Args;
use super::{alone, files, lake};
use crate::cli::terminal::failure::Failure;

/// Evaluates the expression over the chosen input, or explains the expression.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    if arguments.explain && arguments.json {
        return Err(Failure::input("--explain prints text; it has no JSON"));
    }
    let options = arguments.options()?;
    match &arguments.data {
        Some(data) => lake::run(&arguments, data, &options),
        None if arguments.input.is_empty() => alone::run(&arguments, &options),
        None => files::run(&arguments, &options),
    }
}
