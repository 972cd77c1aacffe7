//! How a record shows what normalization wrote into it: extensions under the service's own URL.

use std::borrow::Cow;
use std::sync::OnceLock;

use memchr::memmem;

use super::report::Rule;
use crate::lake::json::{Value, push_quoted};

/// On what other records contributed: the rule that did it. The next run takes it out first and makes it anew.
const NORMALIZED: &str = "/StructureDefinition/normalized";
/// On a Coding or Quantity that is no list's item, and was changed: the source's own.
pub(super) const SOURCE_CODING: &str = "/StructureDefinition/source-coding";
/// On a Reference that led to a contained resource: the source's own.
pub(super) const SOURCE_REFERENCE: &str = "/StructureDefinition/source-reference";
/// On a contributed value: the resource that it is from.
const KNOWN_FROM: &str = "/StructureDefinition/known-from";
/// On a Reference that led nowhere in several syncs, beside R4's data-absent-reason.
pub(super) const DANGLING: &str = "/StructureDefinition/dangling";

/// R4's extension for what is not there.
pub(super) const DATA_ABSENT_REASON: &str = "http://hl7.org/fhir/StructureDefinition/data-absent-reason";

/// What stands for something that R4 requires and the source left out.
pub(super) const PLACEHOLDER: &str = "Undefined by source";

/// The extension that says a rule contributed a value.
pub(super) fn mark(base: &str, rule: Rule) -> String {
    let url = quoted(&format!("{base}{NORMALIZED}"));
    format!(r#"{{"url":{url},"valueCode":"{}"}}"#, rule.name())
}

/// The extension that names where a contributed value is from.
pub(super) fn known_from(base: &str, reference: &str) -> String {
    let url = quoted(&format!("{base}{KNOWN_FROM}"));
    format!(
        r#"{{"url":{url},"valueReference":{{"reference":{}}}}}"#,
        quoted(reference)
    )
}

/// Whether the text of a record holds a mark at all.
pub(super) fn may_stand_in(record: Value<'_>) -> bool {
    static FINDER: OnceLock<memmem::Finder<'static>> = OnceLock::new();
    let finder = FINDER.get_or_init(|| memmem::Finder::new(NORMALIZED));
    finder.find(record.raw().as_bytes()).is_some()
}

/// Whether a value was contributed.
pub(super) fn is_marked(value: Value<'_>) -> bool {
    marked_by(value).is_some()
}

/// The name of the rule that contributed a value. An extension that has a value is marked in that, as it may not have both.
pub(super) fn marked_by(value: Value<'_>) -> Option<Cow<'_, str>> {
    let own = value.get("extension").and_then(rule_of);
    own.or_else(|| {
        value.get("url")?;
        let mut properties = value.entries();
        properties.find_map(|(key, value)| {
            let is_value = key.name().starts_with("value") && value.is_object();
            is_value.then(|| value.get("extension").and_then(rule_of))?
        })
    })
}

fn rule_of(extensions: Value<'_>) -> Option<Cow<'_, str>> {
    let mut marks = extensions.items().filter(|each| has_url(*each, NORMALIZED));
    marks.next()?.get_str("valueCode")
}

/// Whether an extension is one that normalization writes.
pub(super) fn is_ours(extension: Value<'_>) -> bool {
    let Some(url) = extension.get_str("url") else {
        return false;
    };
    url.contains("/StructureDefinition/")
        && [NORMALIZED, SOURCE_CODING, SOURCE_REFERENCE, KNOWN_FROM, DANGLING]
            .iter()
            .any(|ours| url.ends_with(ours))
}

/// Whether an extension's URL ends so.
pub(super) fn has_url(extension: Value<'_>, tail: &str) -> bool {
    extension.get_str("url").is_some_and(|url| url.ends_with(tail))
}

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    push_quoted(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}
