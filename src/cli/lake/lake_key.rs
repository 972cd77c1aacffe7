//! The options for the key-encryption key of a sealed lake. Every command has them. Commands that open no sealed lake
//! ignore them.

use std::path::{Path, PathBuf};

use super::super::terminal::failure::Failure;
use crate::lake::{KekSource, LakeError};

/// Where the key of a sealed lake comes from.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sealed lakes")]
pub(in crate::cli) struct LakeKey {
    /// File with the key of a sealed lake; only its owner may be able to read it. Without it the key is taken from
    /// TABULARIUM_LAKE_KEY
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    key_file: Option<PathBuf>,
    /// Shell command that prints the key of a sealed lake
    #[arg(long, global = true, value_name = "COMMAND", hide_short_help = true)]
    key_command: Option<String>,
}

impl LakeKey {
    /// Sets the source of the key for all sealed lakes that this process opens. Changes nothing if no option is given.
    pub(in crate::cli) fn apply(self) -> Result<(), Failure> {
        if let Some(source) = source(self.key_file, self.key_command, ["--key-file", "--key-command"])? {
            source.prefer();
        }
        Ok(())
    }
}

/// Reads the key for a new sealed lake in `data`. Commands call this before they make the folder, so that a missing or
/// wrong key leaves nothing behind.
pub(in crate::cli) fn check(data: &Path) -> Result<(), Failure> {
    let read = KekSource::default().load();
    read.map(drop).map_err(|source| {
        let dir = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        Failure::from_lake(LakeError::Keys { dir, source })
    })
}

/// Returns the source of the key: the file or the shell command. `None` if neither is given. Fails if both are given.
/// `options` are the names of the two options, for the error.
pub(in crate::cli) fn source(
    file: Option<PathBuf>,
    command: Option<String>,
    options: [&str; 2],
) -> Result<Option<KekSource>, Failure> {
    match (file, command) {
        (Some(_), Some(_)) => {
            let [one, other] = options;
            Err(Failure::input(format!("give {one} or {other}, not both")))
        }
        (Some(file), None) => Ok(Some(KekSource::File(file))),
        (None, Some(command)) => Ok(Some(KekSource::Command(command))),
        (None, None) => Ok(None),
    }
}
