//! Why a summary cannot be made.

use crate::columns::json::JsonError;

/// Why a summary cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// The Patient is not among the records.
    #[error("the Patient is not among the records")]
    NoPatient,
    /// A stored record is not valid JSON.
    #[error("a stored {resource_type} cannot be read: {reason}")]
    Unreadable {
        /// Its type.
        resource_type: &'static str,
        /// The error in its text.
        reason: JsonError,
    },
    /// The time is outside the years that FHIR can write.
    #[error("the moment of the summary is not in the years 1 to 9999")]
    Moment,
}
