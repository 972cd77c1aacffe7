//! Reference values: `id`, `Type/id`, an absolute URL or a URN (R4 search, 3.1.1.4.12).

use super::escape;
use crate::fhir::reference::{Canonical, Reference, Target, is_id};
use crate::fhir::{TypeId, facts};

/// The value of a reference parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceValue {
    /// A relative reference with this id and, if the value has one, this type.
    Relative {
        /// The type. `None` means any type.
        type_id: Option<TypeId>,
        /// The id.
        id: String,
    },
    /// A reference or canonical with this text. If the text has no version, canonicals with any version match.
    Text(String),
}

impl ReferenceValue {
    /// Parses one alternative. `type_id` is the type in a modifier such as `:Patient`. `base` is the address of the
    /// server's FHIR API, which ends with `/fhir/`. Returns `None` if the text is empty, or if it names another type
    /// than the modifier.
    pub(crate) fn parse(text: &str, type_id: Option<TypeId>, base: &str) -> Option<ReferenceValue> {
        let text = escape::unescape(text);
        let text = text.strip_prefix(base).map(str::to_owned).unwrap_or(text);
        if is_id(&text) {
            return Some(ReferenceValue::Relative { type_id, id: text });
        }
        match Reference::parse(&text) {
            Reference::Relative(target) if type_id.is_none_or(|type_id| type_id == target.type_id) => {
                Some(ReferenceValue::Relative {
                    type_id: Some(target.type_id),
                    id: target.id.to_owned(),
                })
            }
            Reference::Relative(_) => None,
            _ if text.is_empty() => None,
            _ => Some(ReferenceValue::Text(text)),
        }
    }

    /// Whether the value matches a relative reference to this type and id.
    pub(crate) fn is_to(&self, resource_type: &str, id: &str) -> bool {
        match self {
            ReferenceValue::Relative {
                type_id: wanted,
                id: wanted_id,
            } => id == wanted_id && wanted.is_none_or(|wanted| facts().get(wanted).name == resource_type),
            ReferenceValue::Text(_) => false,
        }
    }

    /// Whether the value matches `text`, which is a canonical or a URI.
    pub(crate) fn is_text(&self, text: &str) -> bool {
        match self {
            // A canonical may be a relative URL such as `Questionnaire/1|2`. Type and id are compared, and its version
            // is ignored.
            ReferenceValue::Relative { type_id, id } => {
                let found = Canonical::parse(text);
                match Target::parse(found.url) {
                    Some(target) => {
                        target.id == id
                            && type_id.is_none_or(|type_id| type_id == target.type_id)
                            && found.fragment.is_none()
                    }
                    None => type_id.is_none() && found.url == id,
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
