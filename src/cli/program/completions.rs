//! `tabularium completions`: prints a script with which a shell completes commands and options.

use clap_complete::Shell;

use crate::cli::terminal::failure::Failure;

const EXAMPLES: &str = "Examples:
  tabularium completions bash > ~/.local/share/bash-completion/completions/tabularium
  tabularium completions zsh > ~/.zfunc/_tabularium
  tabularium completions fish > ~/.config/fish/completions/tabularium.fish
  tabularium completions powershell >> $PROFILE";

/// Print the completions of a shell: bash, zsh, fish or powershell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct Args {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Known,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// Prints the script for the shell.
pub(in crate::cli) fn run(arguments: Args, mut program: clap::Command) -> Result<(), Failure> {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
        Known::Powershell => Shell::PowerShell,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "tabularium", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    Ok(())
}
