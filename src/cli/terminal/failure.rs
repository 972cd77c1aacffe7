//! How a command fails: a sentence on standard error for each fault, and an exit code.

use std::process::ExitCode;

use super::columns::plain;
use super::manner::{ERROR, WARNING, on_error};
use crate::lake::LakeError;
use crate::maintenance::ForeignFolder;

/// Prints a warning on standard error.
pub(in crate::cli) fn warn(message: &str) {
    // The message may contain user input or file contents.
    eprintln!("tabularium: {}: {}", on_error(WARNING, "warning"), plain(message));
}

/// The reason for a command's failure.
#[derive(Debug)]
pub(in crate::cli) struct Failure {
    code: u8,
    message: String,
    /// Further failures.
    others: Vec<String>,
}

impl Failure {
    /// The input is at fault (exit code 2). `message` is one sentence that names the fault and its place.
    pub(in crate::cli) fn input(message: impl Into<String>) -> Failure {
        Failure {
            code: 2,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// The work is done, except for input that was refused (exit code 3).
    pub(in crate::cli) fn partial(message: impl Into<String>) -> Failure {
        Failure {
            code: 3,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// Ctrl-C stopped the command (exit code 130, as in shells).
    pub(in crate::cli) fn stopped(message: impl Into<String>) -> Failure {
        Failure {
            code: 130,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// The lake cannot be opened. A missing lake, or one of another version, is the input's fault. A lake that another
    /// process writes is not.
    pub(in crate::cli) fn from_lake(error: LakeError) -> Failure {
        match error {
            LakeError::Keys { ref source, .. } if !source.is_of_input() => Failure::other(error),
            LakeError::Missing(_)
            | LakeError::NoFolder(_)
            | LakeError::Version { .. }
            | LakeError::OtherKind { .. }
            | LakeError::Keys { .. } => Failure::input(error.to_string()),
            error => Failure::other(error),
        }
    }

    /// The folder is no data folder and cannot become one. This is the input's fault.
    pub(in crate::cli) fn from_folder(error: ForeignFolder) -> Failure {
        Failure::input(error.to_string())
    }

    /// Another failure (exit code 1).
    pub(in crate::cli) fn other(error: impl std::fmt::Display) -> Failure {
        Failure {
            code: 1,
            message: error.to_string(),
            others: Vec::new(),
        }
    }

    /// Joins several failures, one sentence each, with the exit code of the first. `Ok` if there are none.
    pub(in crate::cli) fn all(failures: Vec<Failure>) -> Result<(), Failure> {
        let together = failures.into_iter().reduce(|mut one, other| {
            one.others.push(other.message);
            one.others.extend(other.others);
            one
        });
        together.map_or(Ok(()), Err)
    }

    /// The message, in one line.
    pub(in crate::cli) fn to_text(&self) -> String {
        self.message.clone()
    }

    /// Prints the message on standard error and returns the exit code.
    pub(in crate::cli) fn report(self) -> ExitCode {
        for message in std::iter::once(&self.message).chain(&self.others) {
            // The message may contain user input or file contents.
            let lines: Vec<String> = message.split('\n').map(plain).collect();
            eprintln!("{}: {}", on_error(ERROR, "tabularium"), lines.join("\n"));
        }
        ExitCode::from(self.code)
    }
}
