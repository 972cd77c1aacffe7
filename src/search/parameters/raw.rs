//! The parameters of a search as the URL or the form body has them: percent-decoded names, modifiers and values, in
//! order.
//!
//! This file interprets nothing. `query` turns the parameters into a checked query, and no later code scans the text
//! again.

use super::super::SearchError;
use super::repeated;
use super::result::invalid;

/// The value of `Prefer: handling=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handling {
    /// Unknown parameters are ignored. The `self` link shows which parameters the server understood.
    #[default]
    Lenient,
    /// Unknown parameters are errors.
    Strict,
}

/// One `name[:modifier]=value` pair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawParameter {
    /// The name before the first `:`. Empty if a value came without a name.
    pub name: String,
    /// The text after the first `:`, if there is one.
    pub modifier: Option<String>,
    /// The value.
    pub value: String,
}

impl RawParameter {
    /// Whether the parameter is evaluated. R4 ignores a parameter without a value, but with strict handling it is
    /// evaluated, so that the client gets an error (R4 search, 3.1.1.3).
    pub(in crate::search) fn counts(&self, handling: Handling) -> bool {
        !self.value.is_empty() || handling == Handling::Strict
    }

    /// Creates a parameter from its written name, `name` or `name:modifier`.
    pub fn named(written: &str, value: &str) -> RawParameter {
        let (name, modifier) = match written.split_once(':') {
            Some((name, modifier)) => (name, Some(modifier.to_owned())),
            None => (written, None),
        };
        RawParameter {
            name: name.to_owned(),
            modifier,
            value: value.to_owned(),
        }
    }
}

/// Returns the value of a parameter. If the parameter is repeated, returns the last value. Empty values are ignored.
pub fn last<'a>(parameters: &'a [RawParameter], name: &str) -> Option<&'a str> {
    let named = parameters.iter().rev().filter(|parameter| parameter.name == name);
    named
        .map(|parameter| parameter.value.as_str())
        .find(|value| !value.is_empty())
}

/// Parses a query string or an `application/x-www-form-urlencoded` body.
pub fn parse(query: &str) -> Vec<RawParameter> {
    form_urlencoded::parse(query.as_bytes())
        .filter(|(name, value)| !(name.is_empty() && value.is_empty()))
        .map(|(name, value)| RawParameter::named(&name, &value))
        .collect()
}

/// Parses text from the network like [`parse`], but percent-encoded bytes that are not UTF-8 are an error.
pub fn parse_checked(query: &str) -> Result<Vec<RawParameter>, SearchError> {
    checked(query.split('&'))
}

/// Parses the parameters of a search like [`parse_checked`]. A parameter that is written several times in the same way
/// is returned once, as [`distinct`](super::repeated::distinct) would return it. This is much faster than to parse all
/// of them.
pub fn parse_distinct(query: &str) -> Result<Vec<RawParameter>, SearchError> {
    checked(repeated::pairs_once(query).into_iter())
}

fn checked<'q>(pairs: impl Iterator<Item = &'q str>) -> Result<Vec<RawParameter>, SearchError> {
    let mut parsed = Vec::new();
    for pair in pairs {
        if percent_encoding::percent_decode_str(pair).decode_utf8().is_err() {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
            return Err(invalid(&name, value, "percent-encoded UTF-8"));
        }
        parsed.extend(parse(pair));
    }
    Ok(parsed)
}

/// Returns the parameter's name with its modifier, as the client wrote it.
pub(in crate::search) fn written(raw: &RawParameter) -> String {
    match &raw.modifier {
        Some(modifier) => format!("{}:{modifier}", raw.name),
        None => raw.name.clone(),
    }
}

/// Returns an error if the parameter has a modifier, for parameters that take none. `parameter_type` names the
/// parameter's type in the error.
pub(in crate::search) fn refuse_modifier(raw: &RawParameter, parameter_type: &'static str) -> Result<(), SearchError> {
    match &raw.modifier {
        None => Ok(()),
        Some(modifier) => Err(SearchError::Modifier {
            parameter: raw.name.clone(),
            modifier: modifier.clone(),
            parameter_type,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_and_splits_modifiers() {
        let parsed = parse("name:exact=J%C3%BCrgen&code=http%3A%2F%2Floinc.org%7C8480-6&&=x&_count=5");
        let found: Vec<_> = parsed
            .iter()
            .map(|p| (p.name.as_str(), p.modifier.as_deref(), p.value.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("name", Some("exact"), "Jürgen"),
                ("code", None, "http://loinc.org|8480-6"),
                ("", None, "x"),
                ("_count", None, "5")
            ]
        );
    }

    #[test]
    fn what_is_no_text_is_refused_and_named() {
        let refused = |query: &str| parse_checked(query).map_err(|error| error.to_string());
        assert_eq!(refused("family=%C3%A9&code=a%7Cb").unwrap().len(), 2);
        let text = "family: '%FF' is not percent-encoded UTF-8";
        assert_eq!(refused("code=x&family=%FF"), Err(text.to_owned()));
        assert!(refused("%C3=x").is_err());
    }
}
