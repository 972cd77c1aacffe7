//! Runs the subcommands of `tabularium endpoint`.

use clap::Subcommand;

use super::{add, check, identity, list, organization};
use crate::cli::terminal::failure::Failure;

/// The directory of sources that patients can connect
///
/// A running server uses a change at once.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Add(Box<add::Args>),
    List(list::Args),
    Check(check::Args),
    SetStatus(check::StatusArgs),
    Organization(organization::Args),
    IdentityProvider(identity::ProviderArgs),
    RecordLocator(identity::LocatorArgs),
}

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::Add(arguments) => add::run(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::SetStatus(arguments) => check::set_status(&arguments),
        Command::Organization(arguments) => organization::run(&arguments),
        Command::IdentityProvider(arguments) => identity::save_provider(&arguments),
        Command::RecordLocator(arguments) => identity::save_locator(&arguments),
    }
}
