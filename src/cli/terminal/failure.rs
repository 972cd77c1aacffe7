//! Failures of commands: a sentence on standard error for each fault, and an exit code.

use std::process::ExitCode;

use super::columns::plain;
use super::manner::{ERROR, WARNING, on_error};
use crate::lake::LakeError;
use crate::maintenance::ForeignFolder;

/// Prints a warning on standard error.
pub(in crate::cli) fn warn(message: &str) {
    // The message may contain user input or file contents, so harmful characters are replaced.
    eprintln!("tabularium: {}: {}", on_error(WARNING, "warning"), plain(message));
}

/// The reason for a command's failure.
#[derive(Debug)]
pub(in crate::cli) struct Failure {
    code: u8,
    message: String,
    /// The messages of further failures.
    others: Vec<String>,
}

impl Failure {
    /// Creates a failure for bad input (exit code 2). `message` is one sentence that names the fault and its place.
    pub(in crate::cli) fn input(message: impl Into<String>) -> Failure {
        Failure {
            code: 2,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// Creates a failure for work that was done only in part, for example because some input was refused (exit code
    /// 3).
    pub(in crate::cli) fn partial(message: impl Into<String>) -> Failure {
        Failure {
            code: 3,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// Creates a failure for a command that Ctrl-C stopped (exit code 130, as in shells).
    pub(in crate::cli) fn stopped(message: impl Into<String>) -> Failure {
        Failure {
            code: 130,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// Converts an error from opening a lake. The exit code is 2 for a missing lake, for one of another version or
    /// kind, and for a missing or wrong key. It is 1 for other errors, such as a lake that another process writes.
    pub(in crate::cli) fn from_lake(error: LakeError) -> Failure {
        match error {
            LakeError::Keys { ref source, .. } if !source.is_of_input() => Failure::other(error),
            LakeError::Missing(_)
            | LakeError::NoFolder(_)
            | LakeError::Version { .. }
            | LakeError::Restoring(_)
            | LakeError::OtherKind { .. }
            | LakeError::Keys { .. } => Failure::input(error.to_string()),
            error => Failure::other(error),
        }
    }

    /// Creates a failure for a folder that is no data folder and cannot become one (exit code 2).
    pub(in crate::cli) fn from_folder(error: ForeignFolder) -> Failure {
        Failure::input(error.to_string())
    }

    /// Creates a failure for any other error (exit code 1).
    pub(in crate::cli) fn other(error: impl std::fmt::Display) -> Failure {
        Failure {
            code: 1,
            message: error.to_string(),
            others: Vec::new(),
        }
    }

    /// Joins failures into one that has all their messages and the exit code of the first. Returns `Ok` if there are
    /// none.
    pub(in crate::cli) fn all(failures: Vec<Failure>) -> Result<(), Failure> {
        let together = failures.into_iter().reduce(|mut one, other| {
            one.others.push(other.message);
            one.others.extend(other.others);
            one
        });
        together.map_or(Ok(()), Err)
    }

    /// Names the option that gave the bad input before the message. Other failures are unchanged.
    pub(in crate::cli) fn of_option(mut self, option: &str) -> Failure {
        if self.code == 2 {
            self.message = format!("{option}: {}", self.message);
        }
        self
    }

    /// Returns the message of the first failure.
    pub(in crate::cli) fn to_text(&self) -> String {
        self.message.clone()
    }

    /// Prints each message on standard error, and returns the exit code.
    pub(in crate::cli) fn report(self) -> ExitCode {
        for message in std::iter::once(&self.message).chain(&self.others) {
            // The message may contain user input or file contents, so harmful characters are replaced.
            let lines: Vec<String> = message.split('\n').map(plain).collect();
            eprintln!("{}: {}", on_error(ERROR, "tabularium"), lines.join("\n"));
        }
        ExitCode::from(self.code)
    }
}
