//! Errors of making a health card.

use crate::columns::json::JsonError;

/// Why the records could not be made into a card.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// A stored record is not valid JSON.
    #[error("a stored {resource_type} cannot be read: {reason}")]
    Unreadable {
        /// The type of the record.
        resource_type: &'static str,
        /// The position and cause of the error.
        reason: JsonError,
    },
    /// The payload could not be compressed.
    #[error("the card could not be compressed: {0}")]
    Deflate(#[from] std::io::Error),
}
