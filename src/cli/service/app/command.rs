//! Runs the subcommands of `tabularium app`.

use clap::Subcommand;

use super::{applicants, change, create, keys, list, profile, webhooks};
use crate::cli::terminal::failure::Failure;

/// Register applications and change them: keys, redirect URIs, origins, webhooks, how often records are fetched again
///
/// A running server uses a change within a second.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(create::Args),
    Set(profile::SetArgs),
    List(list::Args),
    RotateKeys(keys::Args),
    AddRedirect(change::RedirectArgs),
    RemoveRedirect(change::RemoveRedirectArgs),
    AddOrigin(change::OriginArgs),
    RemoveOrigin(change::RemoveOriginArgs),
    SetSync(change::SyncArgs),
    RegistrationToken(create::TokenArgs),
    Applicants(applicants::Args),
    Webhooks(webhooks::Args),
}

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::Create(arguments) => create::run(arguments),
        Command::Set(arguments) => profile::set(&arguments),
        Command::List(arguments) => list::run(&arguments),
        Command::RotateKeys(arguments) => keys::run(&arguments),
        Command::AddRedirect(arguments) => change::add_redirect(&arguments),
        Command::RemoveRedirect(arguments) => change::remove_redirect(&arguments),
        Command::AddOrigin(arguments) => change::add_origin(&arguments),
        Command::RemoveOrigin(arguments) => change::remove_origin(&arguments),
        Command::SetSync(arguments) => change::set_sync(&arguments),
        Command::RegistrationToken(arguments) => create::registration_token(&arguments),
        Command::Applicants(arguments) => applicants::run(&arguments),
        Command::Webhooks(arguments) => webhooks::run(&arguments),
    }
}
