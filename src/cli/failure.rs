//! How a command ends badly: one sentence on standard error and an exit code.

use std::process::ExitCode;

use crate::lake::LakeError;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(super) struct Failure {
    code: u8,
    message: String,
}

impl Failure {
    /// The input is at fault (exit code 2); `message` is one sentence that names what is wrong and where.
    pub(super) fn input(message: impl Into<String>) -> Failure {
        Failure {
            code: 2,
            message: message.into(),
        }
    }

    /// The work is done, but for a part of the input that was refused (exit code 3).
    pub(super) fn partial(message: impl Into<String>) -> Failure {
        Failure {
            code: 3,
            message: message.into(),
        }
    }

    /// The lake cannot be opened: the input's fault where there is none, or one of another version.
    pub(super) fn from_lake(error: LakeError) -> Failure {
        match error {
            LakeError::Missing(_) | LakeError::Version { .. } | LakeError::Busy { .. } => {
                Failure::input(error.to_string())
            }
            error => Failure::other(error),
        }
    }

    /// Something else went wrong (exit code 1).
    pub(super) fn other(error: impl std::fmt::Display) -> Failure {
        Failure {
            code: 1,
            message: error.to_string(),
        }
    }

    /// Says it on standard error and gives the exit code.
    pub(super) fn report(self) -> ExitCode {
        eprintln!("tabularium: {}", self.message);
        ExitCode::from(self.code)
    }
}
