//! What can be wrong with an operation on a patient's records.

use super::card::CardError;
use super::summary::SummaryError;
use crate::search::SearchError;

/// Why an operation was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum PatientError {
    /// The scope shows no such Patient (404 `not-found`).
    #[error("there is no Patient with the id {0:?}")]
    NoPatient(String),
    /// A parameter that the operation does not have, where unknown ones are refused (400).
    #[error("there is no parameter {0}")]
    Unknown(String),
    /// A parameter's value is not what it must be (400).
    #[error("the parameter {parameter} must be {expected}; it is '{value}'")]
    Value {
        /// The parameter.
        parameter: &'static str,
        /// The value, as much of it as is worth repeating.
        value: String,
        /// What was expected, with its article.
        expected: &'static str,
    },
    /// A parameter was given more than once, with different values (400).
    #[error("the parameter {0} comes more than once")]
    Repeated(&'static str),
    /// A profile of documents that are not made (404 `not-supported`).
    #[error("summaries of the profile '{0}' are not made; documents are of the International Patient Summary")]
    Profile(String),
    /// No summary could be made of the records.
    #[error(transparent)]
    Summary(#[from] SummaryError),
    /// No health card could be made of the records.
    #[error(transparent)]
    Card(#[from] CardError),
    /// The records could not be found or read, or a page is asked for that there is not.
    #[error(transparent)]
    Search(#[from] SearchError),
}

impl PatientError {
    /// Whether the request is at fault rather than the lake or the engine.
    pub fn is_input(&self) -> bool {
        match self {
            PatientError::Search(error) => error.is_input(),
            PatientError::Summary(_) | PatientError::Card(_) => false,
            _ => true,
        }
    }
}
