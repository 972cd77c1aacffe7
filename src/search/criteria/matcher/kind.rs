//! The kinds of conditions on one value. The bound code system and the type of the compared elements narrow a
//! condition.

use std::sync::Arc;

use super::codes::CodesValue;
use super::many::Many;
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::search::criteria::canonicals::Canonicals;
use crate::search::parameters::values::{
    DateValue, Interval, NearValue, NumberValue, Prefix, QuantityValue, ReferenceValue, TokenSet, TokenValue,
    TypedIdentifier, UriTree,
};

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
    /// The text begins with this, ignoring case, marks, punctuation and blanks.
    Begins(String),
    /// A word of the text begins with this, compared like `Begins`. This finds the parts of a family name.
    BeginsPart(String),
    /// The text contains this, compared like `Begins`.
    Contains(String),
    /// The text is the same, folded.
    Same(String),
    /// The text ends with this, folded.
    Ends(String),
    /// The text is exactly this.
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
    /// Matches nothing: the requested system is not the one to which the element is bound.
    Nothing,
}

/// Resources of one type that are targets of references.
#[derive(Debug)]
pub(in crate::search) struct Targets {
    pub(in crate::search) type_id: TypeId,
    pub(in crate::search) ids: Arc<IdSet>,
}

impl Matcher {
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

    /// The code of a token, if it is neither `true` nor `false`.
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
            Matcher::Reference(ReferenceValue::Relative {
                type_id: type_id @ None,
                ..
            }) => *type_id = Some(target),
            Matcher::PointsTo(ids) => {
                *self = Matcher::RefersTo(Arc::new(Targets {
                    type_id: target,
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
}
