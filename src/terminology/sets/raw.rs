//! CodeSystem and ValueSet resources as they are written, with only the elements that are used. Also finds them in
//! JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A resource of a type that the terminology uses.
pub(in crate::terminology) enum Resource {
    CodeSystem(CodeSystem),
    ValueSet(ValueSet),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::terminology) struct CodeSystem {
    #[serde(default)]
    pub(in crate::terminology) url: String,
    pub(in crate::terminology) version: Option<String>,
    pub(in crate::terminology) case_sensitive: Option<bool>,
    pub(in crate::terminology) content: Option<String>,
    pub(in crate::terminology) hierarchy_meaning: Option<String>,
    #[serde(default)]
    pub(in crate::terminology) property: Vec<PropertyKind>,
    #[serde(default)]
    pub(in crate::terminology) concept: Vec<Concept>,
}

#[derive(Debug, Deserialize)]
pub(in crate::terminology) struct PropertyKind {
    pub(in crate::terminology) code: String,
    pub(in crate::terminology) uri: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(in crate::terminology) struct Concept {
    pub(in crate::terminology) code: String,
    pub(in crate::terminology) display: Option<String>,
    #[serde(default)]
    pub(in crate::terminology) property: Vec<Property>,
    #[serde(default)]
    pub(in crate::terminology) concept: Vec<Concept>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::terminology) struct Property {
    pub(in crate::terminology) code: String,
    value_code: Option<String>,
    value_coding: Option<Coding>,
    value_string: Option<String>,
    value_integer: Option<i64>,
    value_boolean: Option<bool>,
    value_date_time: Option<String>,
    value_decimal: Option<serde_json::Number>,
}

#[derive(Debug, Deserialize)]
struct Coding {
    code: Option<String>,
}

impl Property {
    /// Returns the value as text, whatever its type is. For a Coding, returns its code. `None` if there is no value.
    pub(in crate::terminology) fn value(&self) -> Option<String> {
        let texts = [&self.value_code, &self.value_string, &self.value_date_time];
        if let Some(text) = texts.into_iter().flatten().next() {
            return Some(text.clone());
        }
        let coding = self.value_coding.as_ref().and_then(|coding| coding.code.clone());
        coding
            .or_else(|| self.value_integer.map(|value| value.to_string()))
            .or_else(|| self.value_boolean.map(|value| value.to_string()))
            .or_else(|| self.value_decimal.as_ref().map(ToString::to_string))
    }
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct ValueSet {
    #[serde(default)]
    pub(in crate::terminology) url: String,
    pub(in crate::terminology) version: Option<String>,
    pub(in crate::terminology) compose: Option<Compose>,
    pub(in crate::terminology) expansion: Option<Expansion>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct Compose {
    #[serde(default)]
    pub(in crate::terminology) include: Vec<Clause>,
    #[serde(default)]
    pub(in crate::terminology) exclude: Vec<Clause>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::terminology) struct Clause {
    pub(in crate::terminology) system: Option<String>,
    pub(in crate::terminology) version: Option<String>,
    #[serde(default)]
    pub(in crate::terminology) concept: Vec<Listed>,
    #[serde(default)]
    pub(in crate::terminology) filter: Vec<Filter>,
    #[serde(default)]
    pub(in crate::terminology) value_set: Vec<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct Listed {
    pub(in crate::terminology) code: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct Filter {
    pub(in crate::terminology) property: String,
    pub(in crate::terminology) op: String,
    #[serde(default)]
    pub(in crate::terminology) value: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct Expansion {
    pub(in crate::terminology) total: Option<u64>,
    pub(in crate::terminology) offset: Option<u64>,
    #[serde(default)]
    pub(in crate::terminology) extension: Vec<Extension>,
    #[serde(default)]
    pub(in crate::terminology) contains: Vec<Contains>,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct Extension {
    pub(in crate::terminology) url: String,
}

#[derive(Debug, Deserialize, Serialize)]
pub(in crate::terminology) struct Contains {
    pub(in crate::terminology) system: Option<String>,
    pub(in crate::terminology) code: Option<String>,
    #[serde(rename = "abstract")]
    pub(in crate::terminology) is_abstract: Option<bool>,
    #[serde(default)]
    pub(in crate::terminology) contains: Vec<Contains>,
}

#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "resourceType")]
    resource_type: Option<String>,
}

#[derive(Deserialize)]
struct Bundle<'a> {
    #[serde(borrow, default)]
    entry: Vec<Entry<'a>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
}

/// The maximum nesting of Bundles.
const MAX_BUNDLES: usize = 8;

/// Calls `each` with a resource, or with the resources in a Bundle, if they are CodeSystems or ValueSets with a URL.
pub(in crate::terminology) fn each_resource(
    json: &str,
    each: &mut dyn FnMut(Resource),
) -> Result<(), serde_json::Error> {
    each_within(json, MAX_BUNDLES, each)
}

/// Does the work of [`each_resource`] with at most `depth` nested Bundles. Skips Bundles that are nested deeper.
fn each_within(json: &str, depth: usize, each: &mut dyn FnMut(Resource)) -> Result<(), serde_json::Error> {
    let typed: Typed = serde_json::from_str(json)?;
    match typed.resource_type.as_deref() {
        Some("CodeSystem") => {
            let system: CodeSystem = serde_json::from_str(json)?;
            // A supplement only adds to the concepts of another system and defines none, so it is skipped.
            if !system.url.is_empty() && system.content.as_deref() != Some("supplement") {
                each(Resource::CodeSystem(system));
            }
        }
        Some("ValueSet") => {
            let set: ValueSet = serde_json::from_str(json)?;
            if !set.url.is_empty() {
                each(Resource::ValueSet(set));
            }
        }
        Some("Bundle") if depth > 0 => {
            let bundle: Bundle<'_> = serde_json::from_str(json)?;
            let resources = bundle.entry.iter().filter_map(|entry| entry.resource);
            for resource in resources {
                each_within(resource.get(), depth - 1, each)?;
            }
        }
        _ => {}
    }
    Ok(())
}
