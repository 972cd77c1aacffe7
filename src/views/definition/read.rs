//! Reads properties of JSON objects. If a required property is missing, or a property has the wrong JSON type, the
//! property is left out, and a finding with its place is added. The check then continues, so one fault does not hide
//! the next.

use std::collections::HashSet;

use super::element_path::ElementPath;
use super::finding::Findings;
use crate::columns::json::{Kind, Value};
use crate::fhir::nearest::did_you_mean;
use crate::fhir::outcome::IssueType;

/// Returns a property that exists and is not null.
pub(in crate::views) fn present<'t>(value: Value<'t>, name: &str) -> Option<Value<'t>> {
    value.get(name).filter(|value| !value.is_null())
}

/// Reads an optional property that must be a string.
pub(in crate::views) fn optional_text(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
    name: &str,
) -> Option<String> {
    text(findings, present(value, name)?, &at.property(name))
}

/// Reads a property that must be a string. Its absence is an error.
pub(in crate::views) fn required_text(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
    name: &str,
) -> Option<String> {
    if present(value, name).is_none() {
        findings.error(at, IssueType::Required, format!("has no {name}"));
    }
    optional_text(findings, value, at, name)
}

/// Reads a value that must be a string and not empty.
pub(in crate::views) fn text(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>) -> Option<String> {
    let Some(text) = value.as_str() else {
        findings.error(at, IssueType::Structure, must_be("a string", value));
        return None;
    };
    if text.trim().is_empty() {
        findings.error(at, IssueType::Value, "is empty");
        return None;
    }
    Some(text.into_owned())
}

/// Reads an optional property that must be a boolean.
pub(in crate::views) fn flag(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
    name: &str,
) -> Option<bool> {
    let flag = present(value, name)?;
    if flag.as_bool().is_none() {
        findings.error(at.property(name), IssueType::Structure, must_be("true or false", flag));
    }
    flag.as_bool()
}

/// Reads the items of an optional property that must be an array. Leaves out items for which `read` returns `None`.
pub(in crate::views) fn list<T>(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
    name: &str,
    mut read: impl FnMut(&mut Findings, Value<'_>, &ElementPath<'_>) -> Option<T>,
) -> Vec<T> {
    let Some(value) = present(value, name) else {
        return Vec::new();
    };
    let at = at.property(name);
    if !value.is_array() {
        findings.error(at, IssueType::Structure, must_be("an array", value));
        return Vec::new();
    }
    let items = value.items().enumerate();
    items
        .filter_map(|(index, item)| read(findings, item, &at.item(index)))
        .collect()
}

/// Reads the items of an optional property that must be an array of objects. Leaves out items that are not readable.
pub(in crate::views) fn objects<T>(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
    name: &str,
    mut read: impl FnMut(&mut Findings, Value<'_>, &ElementPath<'_>) -> Option<T>,
) -> Vec<T> {
    list(findings, value, at, name, |findings, item, at| {
        if !item.is_object() {
            findings.error(at, IssueType::Structure, must_be("an object", item));
            return None;
        }
        read(findings, item, at)
    })
}

/// Returns the message that a value has the wrong JSON type.
pub(in crate::views) fn must_be(wanted: &str, value: Value<'_>) -> String {
    let kind = match value.kind() {
        Kind::Null => "null",
        Kind::True | Kind::False => "a boolean",
        Kind::Number => "a number",
        Kind::String | Kind::Escaped => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    };
    format!("must be {wanted}, not {kind}")
}

/// The properties that any element may have and that views ignore.
const IGNORED: [&str; 3] = ["id", "extension", "fhir_comments"];

/// Warns about each property of `value` that is neither in `names` nor in `IGNORED`. Reports an error for each property
/// that occurs twice. Messages call the object `what`, such as `a column`.
pub(in crate::views) fn known(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
    what: &str,
    names: &[&str],
) {
    let mut met: HashSet<String> = HashSet::new();
    for (key, _) in value.entries() {
        let name = key.name().into_owned();
        let at = at.property(&name);
        let bare = name.strip_prefix('_').unwrap_or(&name);
        if met.contains(&name) {
            findings.error(at, IssueType::Structure, "stands twice in one object");
        } else if name == "modifierExtension" {
            findings.warn(at, IssueType::Extension, "is not understood and does nothing");
        } else if !names.contains(&bare) && !IGNORED.contains(&bare) {
            let meant = did_you_mean(&name, names.iter().copied());
            findings.warn(
                at,
                IssueType::Structure,
                format!("is no property of {what} and does nothing{meant}"),
            );
        }
        met.insert(name);
    }
}
