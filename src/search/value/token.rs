//! Token values: `code`, `system|code`, `|code`, `system|` (R4 search, 3.1.1.4.10).

use super::escape;

/// A token to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenValue {
    /// `None`: any system; `Some("")`: no system; otherwise this one, compared exactly.
    pub system: Option<String>,
    /// `None`: any code; otherwise this one, compared without regard to case, as R4 asks where the code system is not known
    /// to be case sensitive.
    pub code: Option<String>,
}

impl TokenValue {
    /// Parses one alternative of a token parameter; `None` where it is empty.
    pub(crate) fn parse(text: &str) -> Option<TokenValue> {
        let parts = escape::split(text, '|');
        let token = match parts.as_slice() {
            [code] => TokenValue {
                system: None,
                code: Some(escape::unescape(code)),
            },
            [system, code] => TokenValue {
                system: Some(escape::unescape(system)),
                code: (!code.is_empty()).then(|| escape::unescape(code)),
            },
            _ => return None,
        };
        let says_nothing = token.code.as_deref().unwrap_or_default().is_empty()
            && token.system.as_deref().unwrap_or_default().is_empty();
        (!says_nothing).then_some(token)
    }
}

/// The value of an identifier with its type (`:of-type`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedIdentifier {
    /// A coding of the identifier's type.
    pub ty: TokenValue,
    /// The identifier's value.
    pub value: String,
}

impl TypedIdentifier {
    /// Parses `system|code|value`; all three must be there.
    pub(crate) fn parse(text: &str) -> Option<TypedIdentifier> {
        let parts = escape::split(text, '|');
        let [system, code, value] = parts.as_slice() else {
            return None;
        };
        if [system, code, value].iter().any(|part| part.is_empty()) {
            return None;
        }
        Some(TypedIdentifier {
            ty: TokenValue {
                system: Some(escape::unescape(system)),
                code: Some(escape::unescape(code)),
            },
            value: escape::unescape(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_forms() {
        let token = |system: Option<&str>, code: Option<&str>| TokenValue {
            system: system.map(str::to_owned),
            code: code.map(str::to_owned),
        };
        assert_eq!(TokenValue::parse("a"), Some(token(None, Some("a"))));
        assert_eq!(TokenValue::parse("s|a"), Some(token(Some("s"), Some("a"))));
        assert_eq!(TokenValue::parse("|a"), Some(token(Some(""), Some("a"))));
        assert_eq!(TokenValue::parse("s|"), Some(token(Some("s"), None)));
        assert_eq!(TokenValue::parse(r"a\|b"), Some(token(None, Some("a|b"))));
        assert_eq!(TokenValue::parse("|"), None);
        assert_eq!(TokenValue::parse(""), None);
        assert_eq!(TokenValue::parse("a|b|c"), None);
    }
}
