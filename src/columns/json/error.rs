//! The errors of the JSON parser, with their positions.

/// The maximum depth of nested arrays and objects.
pub const MAX_DEPTH: usize = 100;

/// A text that is not JSON, or JSON that exceeds the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct JsonError {
    /// The position in the text, in bytes from its start.
    pub offset: usize,
    /// Why the text is refused.
    pub reason: Reason,
}

/// Why a JSON text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum Reason {
    #[error("invalid UTF-8")]
    Utf8,
    #[error("the text ends too early")]
    Incomplete,
    #[error("expected a value")]
    ExpectedValue,
    #[error("expected a property name in double quotes")]
    ExpectedKey,
    #[error("expected ':' after the property name")]
    ExpectedColon,
    #[error("expected ',' or the end of the object")]
    ExpectedCommaOrBrace,
    #[error("expected ',' or the end of the array")]
    ExpectedCommaOrBracket,
    #[error("a number that JSON does not allow")]
    Number,
    #[error("an escape that JSON does not allow")]
    Escape,
    #[error("half of an escaped surrogate pair")]
    Surrogate,
    #[error("a control character inside a string")]
    Control,
    #[error("something after the end of the value")]
    Trailing,
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("a text of 4 GiB or more")]
    TooLarge,
}
