//! Parses references: finds out to which resource a text refers, and in which form. Does not check whether this
//! resource exists.

use super::super::facts::{Kind, TypeId, facts};

/// The parsed text of a `Reference.reference`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reference<'a> {
    /// `Patient/1`, `Patient/1/_history/2`: a resource of the same server.
    Relative(Target<'a>),
    /// `https://example.org/fhir/Patient/1`: a resource of the server at `base`, which has no trailing slash.
    Absolute {
        /// The server's base URL.
        base: &'a str,
        /// The resource.
        target: Target<'a>,
    },
    /// `#1`: a contained resource. `#` alone, with an empty id, is the container.
    Fragment(&'a str),
    /// `urn:uuid:…` or another URN, as the complete text.
    Urn(&'a str),
    /// `Practitioner?identifier=…`: the resource that a search with this query finds.
    Conditional {
        /// The type that is searched.
        type_id: TypeId,
        /// The text after the question mark.
        query: &'a str,
    },
    /// A text that has none of the forms of R4, as the complete text.
    Other(&'a str),
}

/// A resource by type and id, with or without its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target<'a> {
    /// A concrete resource type.
    pub type_id: TypeId,
    /// The target's id.
    pub id: &'a str,
    /// The version, after `/_history/`.
    pub version: Option<&'a str>,
}

/// The parsed text of a canonical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Canonical<'a> {
    /// The URL without version and fragment.
    pub url: &'a str,
    /// The text after `|`.
    pub version: Option<&'a str>,
    /// The text after `#`.
    pub fragment: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Parses a text. Every text is a reference of some kind.
    pub fn parse(text: &'a str) -> Reference<'a> {
        if let Some(id) = text.strip_prefix('#') {
            return if id.is_empty() || is_id(id) {
                Reference::Fragment(id)
            } else {
                Reference::Other(text)
            };
        }
        if text.starts_with("urn:") {
            return Reference::Urn(text);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return absolute(text).unwrap_or(Reference::Other(text));
        }
        if let Some(target) = Target::parse(text) {
            return Reference::Relative(target);
        }
        match text.split_once('?') {
            Some((resource_type, query)) if !query.is_empty() => {
                concrete(resource_type).map_or(Reference::Other(text), |type_id| Reference::Conditional {
                    type_id,
                    query,
                })
            }
            _ => Reference::Other(text),
        }
    }

    /// Returns the target if the reference is relative.
    pub fn relative(self) -> Option<Target<'a>> {
        match self {
            Reference::Relative(target) => Some(target),
            _ => None,
        }
    }
}

impl<'a> Target<'a> {
    /// Parses `Type/id` or `Type/id/_history/version`, nothing else.
    pub fn parse(text: &'a str) -> Option<Target<'a>> {
        Target::parse_with(text, is_id)
    }

    /// Parses a text as [`Target::parse`] does, but `is_id` decides which ids and versions are valid. Some servers have
    /// ids that FHIR does not allow.
    pub fn parse_with(text: &'a str, is_id: impl Fn(&str) -> bool) -> Option<Target<'a>> {
        let (resource_type, rest) = text.split_once('/')?;
        let (id, version) = match rest.split_once('/') {
            None => (rest, None),
            Some((id, history)) => (id, Some(history.strip_prefix("_history/")?)),
        };
        if !is_id(id) || version.is_some_and(|version| !is_id(version)) {
            return None;
        }
        Some(Target {
            type_id: concrete(resource_type)?,
            id,
            version,
        })
    }

    /// Returns the name of the target's type.
    pub fn type_name(&self) -> &'static str {
        facts().get(self.type_id).name
    }
}

impl<'a> Canonical<'a> {
    /// Splits a canonical into URL, version and fragment.
    pub fn parse(text: &'a str) -> Canonical<'a> {
        let (text, fragment) = match text.split_once('#') {
            Some((text, fragment)) => (text, Some(fragment)),
            None => (text, None),
        };
        let (url, version) = match text.split_once('|') {
            Some((url, version)) => (url, Some(version)),
            None => (text, None),
        };
        Canonical { url, version, fragment }
    }
}

/// Whether a text is a FHIR id: 1 to 64 characters, which are letters, digits, `-` or `.`.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.')
}

fn concrete(name: &str) -> Option<TypeId> {
    let type_id = facts().lookup(name)?;
    let def = facts().get(type_id);
    (def.kind == Kind::Resource && !def.is_abstract).then_some(type_id)
}

/// Parses an absolute reference. The target is in the last two segments, or in the last four if the second last is
/// `_history`.
fn absolute(url: &str) -> Option<Reference<'_>> {
    let mut slashes = url.rmatch_indices('/').map(|(at, _)| at);
    let (last, second) = (slashes.next()?, slashes.next()?);
    let at = if &url[second + 1..last] == "_history" {
        slashes.next()?;
        slashes.next()?
    } else {
        second
    };
    let (base, target) = (&url[..at], Target::parse(&url[at + 1..])?);
    let (_, host) = base.split_once("://")?;
    if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control() || "?#|<>\"".contains(c)) {
        return None;
    }
    Some(Reference::Absolute { base, target })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn target<'a>(resource_type: &str, id: &'a str, version: Option<&'a str>) -> Target<'a> {
        Target {
            type_id: facts().lookup(resource_type).unwrap(),
            id,
            version,
        }
    }

    #[test]
    fn references_are_told_apart() {
        use Reference::*;
        let patient = target("Patient", "1", None);
        for (text, expected) in [
            ("Patient/1", Relative(patient)),
            (
                "Patient/a-B.9/_history/2",
                Relative(target("Patient", "a-B.9", Some("2"))),
            ),
            (
                "https://example.org/fhir/Patient/1",
                Absolute {
                    base: "https://example.org/fhir",
                    target: patient,
                },
            ),
            (
                "http://localhost:8080/Patient/1",
                Absolute {
                    base: "http://localhost:8080",
                    target: patient,
                },
            ),
            (
                "https://example.org/Patient/1/_history/v2",
                Absolute {
                    base: "https://example.org",
                    target: target("Patient", "1", Some("v2")),
                },
            ),
            ("#1", Fragment("1")),
            ("#", Fragment("")),
            ("urn:uuid:0a8f7e6c", Urn("urn:uuid:0a8f7e6c")),
            (
                "Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|99",
                Conditional {
                    type_id: facts().lookup("Practitioner").unwrap(),
                    query: "identifier=http://hl7.org/fhir/sid/us-npi|99",
                },
            ),
        ] {
            assert_eq!(Reference::parse(text), expected, "{text}");
        }
        assert_eq!(Reference::parse("Patient/1").relative().unwrap().type_name(), "Patient");
        assert_eq!(Reference::parse("#1").relative(), None);
    }

    #[test]
    fn what_is_no_reference_is_other() {
        let long = format!("Patient/{}", "a".repeat(65));
        for text in [
            "",
            "Patient",
            "Patient/",
            "Patient/1/",
            "/Patient/1",
            "Patient/1/2",
            "Patient/1/_history",
            "Patient/1/_history/",
            "Patient/1?x=y",
            "Patient/1#x",
            "Patient/a_b",
            "Patient/ä",
            "patient/1",
            "Nobody/1",
            "Resource/1",
            "DomainResource?name=x",
            "HumanName/1",
            "Patient?",
            "#a b",
            long.as_str(),
            "http://",
            "http:///Patient/1",
            "http://Patient/1",
            "https://example.org/Nobody/1",
            "https://example.org/_history/2",
            "https://example.org/a?b=/Patient/1",
            "ftp://example.org/Patient/1",
            "http://hl7.org/fhir/ValueSet/x|4.0.1",
        ] {
            assert_eq!(Reference::parse(text), Reference::Other(text), "{text}");
        }
    }

    #[test]
    fn canonicals_are_taken_apart() {
        let url = "http://example.org/q";
        assert_eq!(
            Canonical::parse(url),
            Canonical {
                url,
                version: None,
                fragment: None
            }
        );
        assert_eq!(
            Canonical::parse("http://example.org/q|1.0#p"),
            Canonical {
                url,
                version: Some("1.0"),
                fragment: Some("p")
            }
        );
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "\\PC*", near in "(https?://)?[a-z/#?|_ä]{0,9}(Patient|Resource)?[/?#][a-z1-9/_]{0,20}") {
            for text in [text, near] {
                match Reference::parse(&text) {
                    Reference::Relative(target) => prop_assert!(text.starts_with(target.type_name())),
                    Reference::Absolute { base, target } => {
                        prop_assert_eq!(Target::parse(&text[base.len() + 1..]), Some(target));
                    }
                    _ => {}
                }
                Canonical::parse(&text);
            }
        }
    }
}
