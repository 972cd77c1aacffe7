//! The kinds of conditions on one value of a parameter. Some conditions are adapted to the code system or to the target
//! type of the compared elements.

use std::sync::Arc;

use super::codes::{CodesValue, OF_CODES};
use super::many::Many;
use crate::columns::conditions::IdSet;
use crate::fhir::TypeId;
use crate::search::criteria::canonicals::Canonicals;
use crate::search::parameters::values::{
    DateValue, Interval, NearValue, NumberValue, Prefix, QuantityValue, ReferenceValue, TokenSet, TokenValue,
    TypedIdentifier, UriTree,
};

/// A condition on one value of a parameter.
#[derive(Clone, Debug)]
pub(in crate::search) enum Matcher {
    Token(TokenValue),
    /// One of many tokens.
    OneOfTokens(Arc<TokenSet>),
    /// `_id`. Ids are case-sensitive and have no system.
    Id(String),
    /// One of many ids.
    OneOf(Arc<IdSet>),
    /// `:text` of a token: the display or text of the value begins with this normalized text.
    Label(String),
    /// `:of-type` of an identifier.
    OfType(TypedIdentifier),
    /// `:in`, `:not-in`, `:below` and `:above` of a token.
    Codes(CodesValue),
    /// A text begins with this string. Case, combining marks, punctuation and surplus blanks are ignored.
    Begins(String),
    /// A text, or a word in it, begins with this string. They are compared as for `Begins`. So a search finds a family
    /// name by each of its parts.
    BeginsPart(String),
    /// A text contains this string. They are compared as for `Begins`.
    Contains(String),
    /// A folded text equals this string, which is folded, too (`eq` of `_filter`).
    Same(String),
    /// A folded text ends with this string, which is folded, too (`ew` of `_filter`).
    Ends(String),
    /// A text equals this string, character by character (`:exact`).
    Exact(String),
    /// A folded text is greater or less than this folded string, as the prefix requires (`gt`, `lt`, `ge` and `le` of
    /// `_filter`).
    Ordered(Prefix, String),
    Date(DateValue),
    /// The interval of a value contains all of this interval (`co` of `_filter`).
    Encloses(Interval<i64>),
    Number(NumberValue),
    /// The written digits of a value stand for a range that contains this number (`co` of `_filter`).
    Imprecise(NumberValue),
    Quantity(QuantityValue),
    Reference(ReferenceValue),
    /// A reference to a resource of any type. The resource's id must be in the set.
    PointsTo(Arc<IdSet>),
    /// A reference to a resource of one type. The resource's id must be in the set.
    RefersTo(Arc<Targets>),
    /// A canonical that leads to a resource whose URL is in the set.
    Canonicals(Arc<Canonicals>),
    /// `:identifier` of a reference.
    ReferenceIdentifier(TokenValue),
    Uri(String),
    /// `:below` and `:above` of a URI.
    UriTree(UriTree),
    /// `near` on Location.
    Near(NearValue),
    /// `:below` of a media type: this type, with any parameters.
    MediaType(String),
    /// `:below` of a canonical: this URL, with this version or one that extends it. Without a version, any version.
    VersionsOf {
        url: String,
        version: Option<String>,
    },
    /// Many values of one kind. One of them must match.
    OneOfMany(Arc<Many>),
    /// Matches nothing, because the search names another code system than the one to which the element is bound.
    Nothing,
}

/// The targets of references: resources of one type with these ids.
#[derive(Debug)]
pub(in crate::search) struct Targets {
    pub(in crate::search) type_id: TypeId,
    pub(in crate::search) ids: Arc<IdSet>,
}

impl Matcher {
    /// Adapts the condition to elements that R4 binds to one code system. A token of another system can match nothing.
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

    /// Returns the work of comparing one value, in quarters of the unit of a [`Budget`](crate::lake::scan::Budget).
    pub(in crate::search) fn cost(&self) -> u64 {
        /// A distance on the sphere takes several trigonometric functions.
        const OF_PLACE: u64 = 16;
        match self {
            Matcher::Near(_) => OF_PLACE,
            Matcher::Codes(_) => OF_CODES,
            Matcher::OneOfMany(many) => many.cost(),
            _ => 1,
        }
    }

    /// Makes a URI without a version match canonicals with this URL and any version.
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

    /// Returns the code of a token if the code is neither `true` nor `false`. Returns `None` for any other matcher.
    pub(in crate::search) fn not_boolean(&self) -> Option<&str> {
        match self {
            Matcher::Token(TokenValue { code: Some(code), .. }) => {
                (!matches!(code.as_str(), "true" | "false")).then_some(code.as_str())
            }
            _ => None,
        }
    }

    /// Adapts the condition to references that can only lead to resources of type `target`. An id without a type then
    /// means a resource of this type.
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

    /// Whether it is certain that no value matches.
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
