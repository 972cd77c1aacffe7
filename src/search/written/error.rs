//! The reasons why a part of a plan cannot be written or read.

use super::super::SearchError;

/// An error while a part of a search plan is written or read. The error names the kind of part, and never its values.
#[derive(Debug, thiserror::Error)]
pub enum WrittenError {
    /// The part has no text from which another process could resolve it.
    #[error("{0} has no text that another process could resolve")]
    NoText(&'static str),
    /// The written part does not have the form that this module writes.
    #[error("the text of {0} is of another form")]
    Form(&'static str),
    /// The text resolves to something else in this process, because the search parameters differ.
    #[error("{0} resolves to something else here, where other search parameters are known")]
    Otherwise(&'static str),
    /// The text does not resolve at all.
    #[error("a condition of the plan does not resolve here")]
    Search(#[from] SearchError),
}

/// Converts a value to JSON.
pub(super) fn to_json(value: &impl serde::Serialize, what: &'static str) -> Result<serde_json::Value, WrittenError> {
    serde_json::to_value(value).map_err(|_| WrittenError::NoText(what))
}

/// Converts JSON to a value.
pub(super) fn of_json<T: serde::de::DeserializeOwned>(
    json: &serde_json::Value,
    what: &'static str,
) -> Result<T, WrittenError> {
    T::deserialize(json).map_err(|_| WrittenError::Form(what))
}
