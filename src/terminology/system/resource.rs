//! Builds code systems from CodeSystem resources.

use rustc_hash::FxHashSet;

use super::super::error::TerminologyError;
use super::super::sets::raw;
use super::builder::Builder;
use super::code_system::{CodeSystem, Head};

/// The URIs of the properties with a concept's parents or children. They identify such a property if its code is not a
/// usual one, such as `parent`.
const PARENT_URI: &str = "http://hl7.org/fhir/concept-properties#parent";
const CHILD_URI: &str = "http://hl7.org/fhir/concept-properties#child";

impl CodeSystem {
    /// Builds a code system from a CodeSystem resource.
    pub(in crate::terminology) fn from_raw(raw: raw::CodeSystem) -> Result<CodeSystem, TerminologyError> {
        let named = |uri: &str, names: &[&str]| -> FxHashSet<String> {
            let by_uri = raw.property.iter().filter(|kind| kind.uri.as_deref() == Some(uri));
            let by_uri = by_uri.map(|kind| kind.code.clone());
            by_uri.chain(names.iter().map(|name| (*name).to_string())).collect()
        };
        let (parent, child) = (
            named(PARENT_URI, &["parent", "subsumedBy"]),
            named(CHILD_URI, &["child"]),
        );
        let mut builder = Builder::new(Head {
            case_sensitive: raw.case_sensitive.unwrap_or(true),
            complete: raw.content.as_deref() == Some("complete"),
            subsuming: raw.hierarchy_meaning.as_deref().is_none_or(|meaning| meaning == "is-a"),
            url: raw.url,
            version: raw.version,
        });
        gather(&mut builder, raw.concept)?;
        for (named, up) in [(parent, true), (child, false)] {
            for name in named {
                for (place, value) in builder.given(&name) {
                    match builder.place(&value) {
                        Some(other) if up => builder.join(other, place),
                        Some(other) => builder.join(place, other),
                        None => {}
                    }
                }
            }
        }
        builder.finish()
    }
}

/// Adds concepts, and the concepts nested in them, to the builder. A nested concept becomes a child of the concept
/// around it.
fn gather(builder: &mut Builder, concepts: Vec<raw::Concept>) -> Result<(), TerminologyError> {
    let mut waiting: Vec<(raw::Concept, Option<u32>)> = concepts.into_iter().map(|concept| (concept, None)).collect();
    while let Some((concept, parent)) = waiting.pop() {
        let (place, added) = builder.concept(&concept.code)?;
        if added {
            builder.display(place, concept.display.as_deref().unwrap_or_default())?;
            for property in &concept.property {
                if let Some(value) = property.value() {
                    builder.property(place, &property.code, &value)?;
                }
            }
        }
        if let Some(parent) = parent {
            builder.join(parent, place);
        }
        waiting.extend(concept.concept.into_iter().map(|child| (child, Some(place))));
    }
    Ok(())
}
