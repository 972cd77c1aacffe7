//! Reference values: `id`, `Type/id`, an absolute URL or a URN (R4 search, 3.1.1.4.12).

use super::escape;
use crate::fhir::reference::{Canonical, Reference, Target, is_id};
use crate::fhir::{TypeId, facts};

/// A reference as a search value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceValue {
    /// A relative reference to this id, and of this type if the value names one.
    Relative {
        /// `None`: any type.
        ty: Option<TypeId>,
        /// The id.
        id: String,
    },
    /// A reference or canonical with this text. A canonical without a version matches any version.
    Text(String),
}

impl ReferenceValue {
    /// Parses one alternative. `ty` is the type of a modifier such as `:Patient`, `base` is `{base}/fhir/`.
    pub(crate) fn parse(text: &str, ty: Option<TypeId>, base: &str) -> Option<ReferenceValue> {
        let text = escape::unescape(text);
        let text = text.strip_prefix(base).map(str::to_owned).unwrap_or(text);
        if is_id(&text) {
            return Some(ReferenceValue::Relative { ty, id: text });
        }
        match Reference::parse(&text) {
            Reference::Relative(target) if ty.is_none_or(|ty| ty == target.ty) => Some(ReferenceValue::Relative {
                ty: Some(target.ty),
                id: target.id.to_owned(),
            }),
            Reference::Relative(_) => None,
            _ if text.is_empty() => None,
            _ => Some(ReferenceValue::Text(text)),
        }
    }

    /// Whether it matches a relative reference to this type and id.
    pub(crate) fn is_to(&self, ty: &str, id: &str) -> bool {
        match self {
            ReferenceValue::Relative {
                ty: wanted,
                id: wanted_id,
            } => id == wanted_id && wanted.is_none_or(|wanted| facts().get(wanted).name == ty),
            ReferenceValue::Text(_) => false,
        }
    }

    /// Whether it matches a canonical or a URI.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        match self {
            // A canonical may also be a relative URL. Its version does not matter then.
            ReferenceValue::Relative { ty, id } => {
                let found = Canonical::parse(text);
                match Target::parse(found.url) {
                    Some(target) => target.id == id && ty.is_none_or(|ty| ty == target.ty) && found.fragment.is_none(),
                    None => ty.is_none() && found.url == id,
                }
            }
            ReferenceValue::Text(wanted) if wanted == text => true,
            ReferenceValue::Text(wanted) => {
                let (wanted, found) = (Canonical::parse(wanted), Canonical::parse(text));
                wanted.version.is_none() && wanted.fragment.is_none() && wanted.url == found.url
            }
        }
    }
}
