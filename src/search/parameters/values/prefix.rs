//! The prefixes of number, date and quantity values (R4 search, 3.1.1.4.5).

/// How a resource's value must compare with the value of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    /// Equal, within the written precision.
    Eq,
    /// Not equal.
    Ne,
    /// Greater than.
    Gt,
    /// Less than.
    Lt,
    /// Greater or equal.
    Ge,
    /// Less or equal.
    Le,
    /// Starts after.
    Sa,
    /// Ends before.
    Eb,
    /// Approximately the same.
    Ap,
}

impl Prefix {
    /// Splits a value into its prefix and the text after it. For a value without a prefix, returns `Eq`.
    pub(crate) fn split(value: &str) -> (Prefix, &str) {
        const ALL: [(&str, Prefix); 9] = [
            ("eq", Prefix::Eq),
            ("ne", Prefix::Ne),
            ("gt", Prefix::Gt),
            ("lt", Prefix::Lt),
            ("ge", Prefix::Ge),
            ("le", Prefix::Le),
            ("sa", Prefix::Sa),
            ("eb", Prefix::Eb),
            ("ap", Prefix::Ap),
        ];
        for (text, prefix) in ALL {
            if let Some(rest) = value.strip_prefix(text) {
                return (prefix, rest);
            }
        }
        (Prefix::Eq, value)
    }
}
