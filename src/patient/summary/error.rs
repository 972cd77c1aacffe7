//! Errors of making a summary.

use crate::columns::json::JsonError;

/// Why the records could not be made into a summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// The Patient is not among the records.
    #[error("the Patient is not among the records")]
    NoPatient,
    /// A stored record is not valid JSON.
    #[error("a stored {resource_type} cannot be read: {reason}")]
    Unreadable {
        /// The type of the record.
        resource_type: &'static str,
        /// The position and cause of the error.
        reason: JsonError,
    },
    /// The time of the summary is outside the years 1 to 9999, which FHIR can write.
    #[error("the moment of the summary is not in the years 1 to 9999")]
    Moment,
}
