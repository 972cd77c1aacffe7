//! How a command fails: a sentence on standard error for each fault, and an exit code.

use std::process::ExitCode;

use super::columns::plain;
use super::manner::{ERROR, WARNING, on_error};
use crate::lake::LakeError;
use crate::maintenance::ForeignFolder;

/// Says on standard error what is doubtful and changes nothing.
pub(in crate::cli) fn warn(message: &str) {
    // The message may contain user input or file contents.
    eprintln!("tabularium: {}: {}", on_error(WARNING, "warning"), plain(message));
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(in crate::cli) struct Failure {
    code: u8,
    message: String,
    /// What else went wrong.
    others: Vec<String>,
}

impl Failure {
    /// The input is at fault (exit code 2); `message` is one sentence that names what is wrong and where.
    pub(in crate::cli) fn input(message: impl Into<String>) -> Failure {
        Failure {
            code: 2,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// The work is done, but for a part of the input that was refused (exit code 3).
    pub(in crate::cli) fn partial(message: impl Into<String>) -> Failure {
        Failure {
            code: 3,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// Ctrl-C has stopped it (exit code 130, as shells have it).
    pub(in crate::cli) fn stopped(message: impl Into<String>) -> Failure {
        Failure {
            code: 130,
            message: message.into(),
            others: Vec::new(),
        }
    }

    /// The lake cannot be opened: the input's fault where there is none, or one of another version. One that another
    /// process writes is nobody's fault.
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

    /// The folder is no data folder and cannot become one: the input's fault.
    pub(in crate::cli) fn from_folder(error: ForeignFolder) -> Failure {
        Failure::input(error.to_string())
    }

    /// Something else went wrong (exit code 1).
    pub(in crate::cli) fn other(error: impl std::fmt::Display) -> Failure {
        Failure {
            code: 1,
            message: error.to_string(),
            others: Vec::new(),
        }
    }

    /// All of several failures, a sentence each, with the exit code of the first; nothing wrong if there is none.
    pub(in crate::cli) fn all(failures: Vec<Failure>) -> Result<(), Failure> {
        let together = failures.into_iter().reduce(|mut one, other| {
            one.others.push(other.message);
            one.others.extend(other.others);
            one
        });
        together.map_or(Ok(()), Err)
    }

    /// What is wrong, in one line.
    pub(in crate::cli) fn to_text(&self) -> String {
        self.message.clone()
    }

    /// Says it on standard error and gives the exit code.
    pub(in crate::cli) fn report(self) -> ExitCode {
        for message in std::iter::once(&self.message).chain(&self.others) {
            // The message may contain user input or file contents.
            let lines: Vec<String> = message.split('\n').map(plain).collect();
            eprintln!("{}: {}", on_error(ERROR, "tabularium"), lines.join("\n"));
        }
        ExitCode::from(self.code)
    }
}
