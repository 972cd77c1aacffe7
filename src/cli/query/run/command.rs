//! Chooses the input of the views: a lake or files.

use super::args::Args;
use super::{files, lake, targets};
use crate::cli::terminal::failure::Failure;
use crate::lake::Lake;

/// Runs the views over the chosen input.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    if arguments.explain.is_some() && arguments.data.is_none() {
        return Err(Failure::input(
            "--explain shows how a lake is read; name one with --data",
        ));
    }
    let targets = targets::load(&arguments)?;
    let format = arguments.format()?;
    match &arguments.data {
        Some(data) => lake::run(
            &arguments,
            &Lake::open(data).map_err(Failure::from_lake)?,
            &targets,
            format,
        ),
        None => files::run(&arguments, &targets, format),
    }
}
