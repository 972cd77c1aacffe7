//! `tabularium man`: writes a manual page for each command.

use std::path::PathBuf;

use clap_mangen::Man;

use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::manner::notice;

/// Write manual pages into a folder: tabularium.1 and one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tabularium man ~/.local/share/man/man1 && man tabularium-run")]
pub(in crate::cli) struct Args {
    /// The folder; made if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a page for the program, and one for each command and subcommand except `help`.
pub(in crate::cli) fn run(arguments: Args, program: clap::Command) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let failed = |error: std::io::Error| Failure::input(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut program = program;
    program.build();
    let mut pages = vec![program];
    let mut written = 0;
    while let Some(command) = pages.pop() {
        pages.extend(
            command
                .get_subcommands()
                .filter(|command| command.get_name() != "help")
                .cloned(),
        );
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(Failure::other)?;
        std::fs::write(folder.join(format!("{name}.1")), page).map_err(failed)?;
        written += 1;
    }
    notice(&format!("{written} pages to {}", folder.display()));
    Ok(())
}
