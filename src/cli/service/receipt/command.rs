//! Runs the subcommands of `tabularium receipt`.

use clap::Subcommand;

use super::{kept, verify};
use crate::cli::terminal::failure::Failure;

/// List, print or check the signed receipts of erasures
///
/// Every erasure ends with a receipt: by $expunge, by a revocation, when the access window ends, or by `tabularium
/// erase`. The receipt says which files were rewritten, how many records these had, and what a search for the erased
/// ids found afterwards. It names nobody.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(kept::ListArgs),
    Show(kept::ShowArgs),
    Verify(verify::Args),
}

/// Runs the subcommand.
pub(in crate::cli) fn run(arguments: Args) -> Result<(), Failure> {
    match arguments.command {
        Command::List(arguments) => kept::list(arguments),
        Command::Show(arguments) => kept::show(arguments),
        Command::Verify(arguments) => verify::run(arguments),
    }
}
