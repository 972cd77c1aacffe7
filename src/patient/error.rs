//! Errors of operations on a patient's records.

use super::card::CardError;
use super::summary::SummaryError;
use crate::search::SearchError;

/// Why an operation on a patient's records failed.
#[derive(Debug, thiserror::Error)]
pub enum PatientError {
    /// The scope shows no such Patient (404 `not-found`).
    #[error("there is no Patient with the id {0:?}")]
    NoPatient(String),
    /// The operation does not have this parameter, and `handling` is strict (400).
    #[error("there is no parameter {0}")]
    Unknown(String),
    /// A parameter's value is not valid (400).
    #[error("the parameter {parameter} must be {expected}; it is '{value}'")]
    Value {
        /// The parameter.
        parameter: &'static str,
        /// The value, shortened if it is long.
        value: String,
        /// What the value must be, with an article: "a date like 2024".
        expected: &'static str,
    },
    /// A parameter was given more than once, with different values (400).
    #[error("the parameter {0} comes more than once")]
    Repeated(&'static str),
    /// The requested profile is not the one that summaries have (404 `not-supported`).
    #[error("summaries of the profile '{0}' are not made; documents are of the International Patient Summary")]
    Profile(String),
    /// The summary could not be made from the records.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// The health card could not be made from the records.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The search for the records failed, or the requested page does not exist.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl PatientError {
    /// Whether the request caused the error, and not the lake or the engine.
    pub fn is_input(&self) -> bool {
        match self {
            PatientError::Search(error) => error.is_input(),
            PatientError::Summary(_) | PatientError::Card(_) => false,
            _ => true,
        }
    }
}
