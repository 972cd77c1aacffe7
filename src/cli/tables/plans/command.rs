//! `tabularium plans` and its subcommands.

use clap::Subcommand;

use super::{list, load, lookup};
use crate::cli::terminal::failure::Failure;

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

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::Load(arguments) => load::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Lookup(arguments) => lookup::run(&arguments),
    }
}
