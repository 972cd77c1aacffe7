//! Parses the text of a parameter's value. The type of the parameter and the modifier decide how.

use super::codes::CodesValue;
use super::kind::Matcher;
use super::token;
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::search::SearchError;
use crate::search::bundle::attached::stored_form;
use crate::search::parameters::raw::{RawParameter, written};
use crate::search::parameters::resolver::{Surroundings, resource_type};
use crate::search::parameters::result::invalid;
use crate::search::parameters::terminology;
use crate::search::parameters::values::{
    DateValue, NearValue, NumberValue, QuantityValue, ReferenceValue, TokenValue, TypedIdentifier, UriTree, escape,
    plain,
};

impl Matcher {
    /// Parses one alternative of a parameter's value.
    pub(in crate::search) fn parse(
        parameter: &SearchParameter,
        raw: &RawParameter,
        text: &str,
        around: Surroundings<'_>,
    ) -> Result<Matcher, SearchError> {
        let bad = |expected| invalid(&written(raw), text, expected);
        let modifier = raw.modifier.as_deref();
        let refused = || SearchError::Modifier {
            parameter: raw.name.clone(),
            modifier: modifier.unwrap_or_default().to_owned(),
            parameter_type: parameter.search_type.as_str(),
        };
        match (parameter.search_type, modifier) {
            (SearchType::Token, None) if parameter.code == "_id" => match text {
                "" => Err(bad("an id")),
                id => Ok(Matcher::Id(escape::unescape(id))),
            },
            (SearchType::Token, None | Some("not")) => TokenValue::parse(text)
                .map(Matcher::Token)
                .ok_or_else(|| bad("a token: code, system|code, |code or system|")),
            (SearchType::Token, Some("text")) => match plain(&escape::unescape(text)) {
                label if label.trim().is_empty() => Err(bad("a text of one character or more")),
                label => Ok(Matcher::Label(label)),
            },
            (SearchType::Token, Some("of-type")) => TypedIdentifier::parse(text)
                .map(Matcher::OfType)
                .ok_or_else(|| bad("an identifier with its type: system|code|value")),
            (SearchType::Token, Some("in" | "not-in" | "below" | "above")) => {
                let test = terminology::test(raw, text, around.terminology)?;
                Ok(Matcher::Codes(CodesValue { test, bound: None }))
            }
            (SearchType::String, None | Some("contains" | "exact")) => {
                let text = escape::unescape(text);
                match modifier {
                    Some("exact") if !text.is_empty() => Ok(Matcher::Exact(text)),
                    // The comparison ignores invisible characters, so a text with nothing else would match every
                    // string.
                    _ if plain(&text).is_empty() => Err(bad("a string of one character or more")),
                    None if is_family(parameter) => Ok(Matcher::BeginsPart(plain(&text))),
                    None => Ok(Matcher::Begins(plain(&text))),
                    Some(_) => Ok(Matcher::Contains(plain(&text))),
                }
            }
            (SearchType::Date, None) => DateValue::parse(text, around.now_us)
                .map(Matcher::Date)
                .ok_or_else(|| bad("a date or dateTime such as 2024, 2024-05, ge2024-05-01 or 2024-05-01T10:00:00Z")),
            (SearchType::Number, None) => NumberValue::parse(text)
                .map(Matcher::Number)
                .ok_or_else(|| bad("a number such as 100, 5.40 or gt1e2")),
            (SearchType::Quantity, None) => QuantityValue::parse(text)
                .map(Matcher::Quantity)
                .ok_or_else(|| bad("a quantity: number, number|system|code or number||code")),
            (SearchType::Uri, None | Some("below" | "above")) if text.is_empty() => Err(bad("a URI")),
            (SearchType::Uri, None) => Ok(Matcher::Uri(stored_form(escape::unescape(text), around.base))),
            (SearchType::Uri, Some("below")) => Ok(Matcher::UriTree(UriTree::below(escape::unescape(text)))),
            (SearchType::Uri, Some("above")) => Ok(Matcher::UriTree(UriTree::above(escape::unescape(text)))),
            (SearchType::Special, None) => NearValue::parse(text)
                .map(Matcher::Near)
                .ok_or_else(|| bad("a place: latitude|longitude, latitude|longitude|distance or with |units behind")),
            (SearchType::Reference, Some("identifier")) => TokenValue::parse(text)
                .map(Matcher::ReferenceIdentifier)
                .ok_or_else(|| bad("a token: value, system|value, |value or system|")),
            (SearchType::Reference, modifier) => {
                let type_id = modifier
                    .map(|name| resource_type(name).ok_or_else(refused))
                    .transpose()?;
                ReferenceValue::parse(text, type_id, around.base)
                    .map(Matcher::Reference)
                    .ok_or_else(|| bad("a reference: id, Type/id or an absolute URL"))
            }
            _ => Err(refused()),
        }
    }

    /// Creates the matcher for `:below` of a media type such as `text/xml`.
    pub(in crate::search) fn media_type(text: &str) -> Matcher {
        Matcher::MediaType(token::media_type(&escape::unescape(text)))
    }

    /// Creates the matcher for `:below` of a canonical: `url` or `url|version`.
    pub(in crate::search) fn versions_of(text: &str) -> Matcher {
        let text = escape::unescape(text);
        let (url, version) = match text.split_once('|') {
            Some((url, version)) => (url.to_owned(), Some(version.to_owned())),
            None => (text, None),
        };
        Matcher::VersionsOf { url, version }
    }
}

/// Whether a parameter's values are family names.
fn is_family(parameter: &SearchParameter) -> bool {
    let expression = parameter.expression.as_deref().unwrap_or_default();
    expression.ends_with(".family")
}
