//! Token values: `code`, `system|code`, `|code`, `system|` (R4 search, 3.1.1.4.10).

use super::hashed::{SentMap, SentSet};
use super::{escape, fold};
use crate::fhir::case::fold_case;

/// The value of a token parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenValue {
    /// The system. `None` means any system, `Some("")` means no system.
    pub system: Option<String>,
    /// The code. `None` means any code. Codes are compared without regard to case, as R4 requires unless the code
    /// system is known to be case-sensitive.
    pub code: Option<String>,
}

impl TokenValue {
    /// Parses one alternative of a token parameter. Returns `None` if it has neither a system nor a code, or more than
    /// two parts.
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

/// A set of many tokens. One of them must match.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenSet {
    /// The folded codes by their system: `None` is any system, `Some("")` is no system.
    codes: SentMap<Option<Box<str>>, SentSet<Box<str>>>,
    /// The folded codes of all systems. A client may send as many systems as codes.
    all_codes: SentSet<Box<str>>,
    /// The systems of which all codes match.
    systems: SentSet<Box<str>>,
}

impl TokenSet {
    /// Adds a token.
    pub(crate) fn insert(&mut self, token: TokenValue) {
        let system = token.system.map(String::into_boxed_str);
        match (system, token.code) {
            (system, Some(code)) => {
                let code: Box<str> = fold_case(&code).into();
                self.all_codes.insert(code.clone());
                self.codes.entry(system).or_default().insert(code);
            }
            (Some(system), None) => {
                self.systems.insert(system);
            }
            // `TokenValue::parse` never returns a token that has neither a system nor a code.
            (None, None) => {}
        }
    }

    /// Whether a token of the set matches an item with this system and code.
    pub(crate) fn holds(&self, system: Option<&str>, code: Option<&str>) -> bool {
        if self.systems.contains(system.unwrap_or_default()) {
            return true;
        }
        let Some(code) = code.map(fold_case) else { return false };
        let among = |asked: Option<Box<str>>| self.codes.get(&asked).is_some_and(|codes| codes.contains(&*code));
        among(None) || among(Some(system.unwrap_or_default().into()))
    }

    /// Whether a token of the set matches the code of an element that has no system. The systems of the tokens are
    /// ignored.
    pub(crate) fn holds_code(&self, code: &str) -> bool {
        let code = fold_case(code);
        !self.systems.is_empty() || self.all_codes.contains(&*code)
    }
}

/// The value of `:of-type`: an identifier with its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedIdentifier {
    /// A coding of the identifier's type.
    pub identifier_type: TokenValue,
    /// The identifier's value.
    pub value: String,
}

impl TypedIdentifier {
    /// Parses `system|code|value`. All three parts are required.
    pub(crate) fn parse(text: &str) -> Option<TypedIdentifier> {
        let parts = escape::split(text, '|');
        let [system, code, value] = parts.as_slice() else {
            return None;
        };
        if [system, code, value].iter().any(|part| part.is_empty()) {
            return None;
        }
        Some(TypedIdentifier {
            identifier_type: TokenValue {
                system: Some(escape::unescape(system)),
                code: Some(escape::unescape(code)),
            },
            value: escape::unescape(value),
        })
    }
}

/// A set of many identifiers with their types.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypedSet {
    /// For each folded value of an identifier, the codings of which the identifier's type must have one.
    by_value: SentMap<String, TokenSet>,
}

impl TypedSet {
    /// Adds an identifier.
    pub(crate) fn insert(&mut self, identifier: TypedIdentifier) {
        let types = self.by_value.entry(fold(&identifier.value)).or_default();
        types.insert(identifier.identifier_type);
    }

    /// Returns the types that are requested for identifiers with this value.
    pub(crate) fn types(&self, value: &str) -> Option<&TokenSet> {
        self.by_value.get(&fold(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fhir::case::same_but_for_case;

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

    #[test]
    fn a_set_finds_what_its_tokens_find_one_by_one() {
        let finds = |token: &TokenValue, system: Option<&str>, code: Option<&str>| {
            let same = token
                .code
                .as_deref()
                .is_none_or(|wanted| code.is_some_and(|code| same_but_for_case(code, wanted)));
            same && match token.system.as_deref() {
                None => true,
                Some("") => system.is_none(),
                wanted => system == wanted,
            }
        };
        let texts = ["a", "A", "s|a", "s|", "|a", "S|b", "t|C", "ä"];
        for chosen in 0..1 << texts.len() {
            let tokens: Vec<_> = (0..texts.len())
                .filter(|at| chosen & (1 << at) != 0)
                .filter_map(|at| TokenValue::parse(texts[at]))
                .collect();
            let mut set = TokenSet::default();
            tokens.iter().for_each(|token| set.insert(token.clone()));
            for system in [None, Some("s"), Some("S"), Some("t")] {
                for code in [None, Some("a"), Some("A"), Some("b"), Some("c"), Some("Ä")] {
                    let expected = tokens.iter().any(|token| finds(token, system, code));
                    assert_eq!(set.holds(system, code), expected, "{system:?}|{code:?} in {tokens:?}");
                }
            }
        }
    }
}
