//! Decides whether a value of a parameter's program matches the requested value: one file per kind of parameter.
//!
//! A matcher works on whole columns. It gets the items of one type with their rows, and marks the rows that match.

pub(in crate::search) mod codes;
mod date;
pub(in crate::search) mod items;
mod many;
mod near;
pub(in crate::search) mod number;
mod quantity;
mod reference;
mod sampled;
mod string;
mod token;
mod uri;

use std::sync::Arc;

use super::super::SearchError;
use super::super::bundle::attached::stored_form;
use super::super::parameters::raw::{RawParameter, written};
use super::super::parameters::resolver::{Surroundings, resource_type};
use super::super::parameters::result::invalid;
use super::super::parameters::terminology;
use super::super::parameters::values::{
    DateValue, Interval, NearValue, NumberValue, Prefix, QuantityValue, ReferenceValue, TokenSet, TokenValue,
    TypedIdentifier, UriTree, contains, escape, fold, plain,
};
use super::canonicals::Canonicals;
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::fhir::search_parameter::{SearchParameter, SearchType};
use crate::fhirpath::Typed;
use items::mark_items;

/// The condition on one value.
#[derive(Clone, Debug)]
pub(in crate::search) enum Matcher {
    Token(TokenValue),
    /// One of many tokens.
    OneOfTokens(Arc<TokenSet>),
    /// `_id`: ids are case-sensitive and have no system.
    Id(String),
    /// One of many ids.
    OneOf(Arc<IdSet>),
    /// `:text` of a token: its human-readable text begins with this, folded.
    Label(String),
    /// `:of-type` of an identifier.
    OfType(TypedIdentifier),
    /// `:in`, `:below` and `:above` of a token.
    Codes(CodesValue),
    /// Begins with, plain.
    Begins(String),
    /// A word of the text begins with this, both plain. This finds the parts of a family name.
    BeginsPart(String),
    /// Contains, plain.
    Contains(String),
    /// The text is the same, folded.
    Same(String),
    /// Ends with, folded.
    Ends(String),
    /// Is exactly.
    Exact(String),
    /// The text compares in this way, folded.
    Ordered(Prefix, String),
    Date(DateValue),
    /// The interval of a value contains all of this interval.
    Encloses(Interval<i64>),
    Number(NumberValue),
    /// The number is in the range of the value as the client wrote it.
    Imprecise(NumberValue),
    Quantity(QuantityValue),
    Reference(ReferenceValue),
    /// Refers to a resource of any type with one of many ids.
    PointsTo(Arc<IdSet>),
    /// Refers to one of many resources of a type.
    RefersTo(Arc<Targets>),
    /// Refers by a canonical to a resource with one of these URLs.
    Canonicals(Arc<Canonicals>),
    /// `:identifier` of a reference.
    ReferenceIdentifier(TokenValue),
    Uri(String),
    /// `:below` and `:above`.
    UriTree(UriTree),
    /// `near`.
    Near(NearValue),
    /// `:below` of a media type: this type with any parameters.
    MediaType(String),
    /// `:below` of a canonical: this URL, with this version or one that extends it.
    VersionsOf {
        url: String,
        version: Option<String>,
    },
    /// Many values of a kind. One of them must match.
    OneOfMany(Arc<Many>),
    /// Matches nothing: the code's system is not the one to which the element is bound.
    Nothing,
}

/// Resources of one type that are targets of references.
#[derive(Debug)]
pub(in crate::search) struct Targets {
    pub(in crate::search) ty: TypeId,
    pub(in crate::search) ids: Arc<IdSet>,
}

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
            ty: parameter.ty.as_str(),
        };
        match (parameter.ty, modifier) {
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
                    // A text of invisible characters alone would match everything.
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
                let ty = modifier
                    .map(|name| resource_type(name).ok_or_else(refused))
                    .transpose()?;
                ReferenceValue::parse(text, ty, around.base)
                    .map(Matcher::Reference)
                    .ok_or_else(|| bad("a reference: id, Type/id or an absolute URL"))
            }
            _ => Err(refused()),
        }
    }

    /// `:below` of a media type such as `text/xml`.
    pub(in crate::search) fn media_type(text: &str) -> Matcher {
        Matcher::MediaType(token::media_type(&escape::unescape(text)))
    }

    /// `:below` of a canonical: `url` or `url|version`.
    pub(in crate::search) fn versions_of(text: &str) -> Matcher {
        let text = escape::unescape(text);
        let (url, version) = match text.split_once('|') {
            Some((url, version)) => (url.to_owned(), Some(version.to_owned())),
            None => (text, None),
        };
        Matcher::VersionsOf { url, version }
    }

    /// Applies the one code system to which the compared elements are bound.
    pub(in crate::search) fn bind(&mut self, bound: &'static str) {
        if let Matcher::Codes(codes) = self {
            codes.bound = Some(bound);
        } else if let Matcher::Token(TokenValue {
            system: Some(system), ..
        }) = self
            && !system.is_empty()
            && system != bound
        {
            *self = Matcher::Nothing;
        }
    }

    /// A canonical without a version matches any version.
    pub(in crate::search) fn any_version(&mut self) {
        if let Matcher::Uri(url) = self
            && !url.contains('|')
        {
            *self = Matcher::VersionsOf {
                url: std::mem::take(url),
                version: None,
            };
        }
    }

    /// The code of a token that no boolean can have.
    pub(in crate::search) fn not_boolean(&self) -> Option<&str> {
        match self {
            Matcher::Token(TokenValue { code: Some(code), .. }) => {
                (!matches!(code.as_str(), "true" | "false")).then_some(code.as_str())
            }
            _ => None,
        }
    }

    /// Applies the one type to which the compared references may point.
    pub(in crate::search) fn aim(&mut self, target: TypeId) {
        match self {
            Matcher::Reference(ReferenceValue::Relative { ty: ty @ None, .. }) => *ty = Some(target),
            Matcher::PointsTo(ids) => {
                *self = Matcher::RefersTo(Arc::new(Targets {
                    ty: target,
                    ids: ids.clone(),
                }));
            }
            _ => {}
        }
    }

    /// Whether no value can match.
    pub(in crate::search) fn is_vain(&self) -> bool {
        match self {
            Matcher::OneOf(ids) | Matcher::PointsTo(ids) => ids.is_empty(),
            Matcher::RefersTo(targets) => targets.ids.is_empty(),
            Matcher::Canonicals(borne) => borne.is_empty(),
            Matcher::Nothing => true,
            _ => false,
        }
    }

    /// Marks the rows that have a matching item.
    pub(in crate::search) fn mark(&self, part: &Typed, rows: &mut [bool]) {
        match self {
            Matcher::Token(value) => token::mark(value, part, rows),
            Matcher::OneOfTokens(set) => token::mark_any(set, part, rows),
            Matcher::Id(id) => mark_items(part, rows, |items, item| items.text(item) == Some(id)),
            Matcher::OneOf(ids) => {
                mark_items(part, rows, |items, item| {
                    items.text(item).is_some_and(|id| ids.contains(id))
                });
            }
            Matcher::Label(text) => {
                token::mark_label(&|candidate| string::begins(candidate, text), part, rows);
            }
            Matcher::OfType(value) => token::mark_typed(value, part, rows),
            Matcher::Codes(value) => codes::mark(std::slice::from_ref(value), part, rows),
            Matcher::Begins(text) => {
                string::mark_beginning(part, rows, &|candidate| string::begins(candidate, text));
            }
            Matcher::BeginsPart(text) => {
                let begins = |candidate: &str| string::begins(candidate, text);
                string::mark(part, rows, &|candidate| string::part_begins(candidate, &begins));
            }
            Matcher::Contains(text) => string::mark(part, rows, &|candidate| contains(&fold(candidate), text)),
            Matcher::Same(text) => string::mark(part, rows, &|candidate| fold(candidate) == *text),
            Matcher::Ends(text) => string::mark(part, rows, &|candidate| fold(candidate).ends_with(text.as_str())),
            Matcher::Exact(text) => string::mark(part, rows, &|candidate| candidate == text),
            Matcher::Ordered(prefix, text) => {
                string::mark(part, rows, &|candidate| string::is_ordered(candidate, *prefix, text));
            }
            Matcher::Date(value) => date::mark(value, part, rows),
            Matcher::Encloses(interval) => date::mark_enclosing(*interval, part, rows),
            Matcher::Number(value) => number::mark(value, part, rows),
            Matcher::Imprecise(value) => number::mark_imprecise(value, part, rows),
            Matcher::Quantity(value) => quantity::mark(value, part, rows),
            Matcher::Reference(value) => reference::mark(value, part, rows),
            Matcher::PointsTo(ids) => reference::mark_targets(None, ids, part, rows),
            Matcher::RefersTo(targets) => reference::mark_targets(Some(targets.ty), &targets.ids, part, rows),
            Matcher::Canonicals(borne) => reference::mark_canonicals(borne, part, rows),
            Matcher::ReferenceIdentifier(value) => reference::mark_identifier(value, part, rows),
            Matcher::Uri(uri) => uri::mark(part, rows, &|candidate| candidate == uri),
            Matcher::UriTree(tree) => uri::mark(part, rows, &|candidate| tree.holds(candidate)),
            Matcher::MediaType(base) => {
                mark_items(part, rows, |items, item| {
                    items.text(item).is_some_and(|text| token::media_type(text) == *base)
                });
            }
            Matcher::VersionsOf { url, version } => {
                let version = version.as_deref();
                mark_items(part, rows, |items, item| {
                    items
                        .text(item)
                        .is_some_and(|text| uri::is_version_of(text, url, version))
                });
            }
            Matcher::Near(value) => near::mark(value, part, rows),
            Matcher::OneOfMany(many) => many.mark(part, rows),
            Matcher::Nothing => {}
        }
    }
}

/// Whether a parameter's values are family names.
fn is_family(parameter: &SearchParameter) -> bool {
    let expression = parameter.expression.as_deref().unwrap_or_default();
    expression.ends_with(".family")
}

pub(in crate::search) use codes::CodesValue;
pub(in crate::search) use date::interval as date_interval;
pub(in crate::search) use items::only_text;
pub(in crate::search) use many::{MAX_ALTERNATIVES, Many, gather, gather_tokens, gather_values};
pub(in crate::search) use sampled::Samples;
pub(in crate::search) use token::TokenIndex;
