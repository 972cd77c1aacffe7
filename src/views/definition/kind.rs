//! The kinds of values that a column can have.

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` and `false`.
    Boolean,
    /// Whole numbers of 32 bits.
    Integer,
    /// Decimals as text, with their written digits.
    Decimal,
    /// Text: strings and codes, and dates and times as written.
    Text,
    /// Values of different kinds, each as a JSON token.
    Any,
}
