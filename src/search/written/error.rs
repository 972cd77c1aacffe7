//! Why a part of a plan cannot be written or read.

use super::super::SearchError;

/// A part of a search plan that cannot be written. The error names the kind of part and never its values.
#[derive(Debug, thiserror::Error)]
pub enum WrittenError {
    /// The part has no text from which it could be resolved.
    #[error("{0} has no text that another process could resolve")]
    NoText(&'static str),
    /// The bytes are not in the form that this module writes.
    #[error("the text of {0} is of another form")]
    Form(&'static str),
    /// The text means something else in this process, because the search parameters differ.
    #[error("{0} resolves to something else here, where other search parameters are known")]
    Otherwise(&'static str),
    /// The text does not resolve at all.
    #[error("a condition of the plan does not resolve here")]
    Search(#[from] SearchError),
}

/// A value as JSON.
pub(super) fn to_json(value: &impl serde::Serialize, what: &'static str) -> Result<serde_json::Value, WrittenError> {
    serde_json::to_value(value).map_err(|_| WrittenError::NoText(what))
}

/// A value from JSON.
pub(super) fn of_json<T: serde::de::DeserializeOwned>(
    json: &serde_json::Value,
    what: &'static str,
) -> Result<T, WrittenError> {
    T::deserialize(json).map_err(|_| WrittenError::Form(what))
}
