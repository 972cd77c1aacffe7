//! `tabularium plans` and its subcommands.

use std::path::Path;
use std::sync::Arc;

use clap::Subcommand;

use super::{list, load, lookup};
use crate::cli::terminal::failure::Failure;
use crate::plans::{PlanTables, PlansError};

/// Load, list and look up Medicare Advantage plans as CMS publishes them
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Load(load::Args),
    List(list::Args),
    Lookup(lookup::Args),
}

/// Carries the subcommand out.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::Load(arguments) => load::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Lookup(arguments) => lookup::run(&arguments),
    }
}

/// What lies beside the lake in `data`.
pub(in crate::cli) fn open(data: &Path) -> Result<Arc<PlanTables>, Failure> {
    PlanTables::open(data).map(Arc::new).map_err(failure)
}

/// A file that is given is the input's fault; one beside the lake is not.
pub(in crate::cli) fn failure(error: PlansError) -> Failure {
    match error.is_of_input() {
        true => Failure::input(error.to_string()),
        false => Failure::other(error),
    }
}
