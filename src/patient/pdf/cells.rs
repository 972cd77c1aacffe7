//! Makes the texts of table cells, for several sections.

use super::resource::Resource;
use crate::columns::json::Value;
use crate::patient::{follow, words};

/// Returns the text, or an empty string for an empty cell.
pub(super) fn cell(text: Option<String>) -> String {
    text.unwrap_or_default()
}

/// Returns the text of a property that is a string, a number or a boolean.
pub(super) fn plain(resource: &Resource<'_>, name: &str) -> String {
    cell(resource.get(name).and_then(scalar))
}

/// Returns the text of a string, a number or a boolean. `None` for other values.
pub(super) fn scalar(value: Value<'_>) -> Option<String> {
    words::text(Some(value))
        .or_else(|| value.number().map(|number| words::plain(number).into_owned()))
        .or_else(|| value.as_bool().map(|truth| if truth { "yes" } else { "no" }.to_owned()))
}

/// Returns the text of a property that is a CodeableConcept or a list of them.
pub(super) fn concepts(resource: &Resource<'_>, name: &str) -> String {
    cell(words::concepts(resource.get(name)))
}

/// Returns the text of a choice element.
pub(super) fn chosen(resource: &Resource<'_>, name: &str) -> String {
    cell(chosen_in(resource, resource.json, name))
}

/// Returns the text of a choice element in a part of the resource.
pub(super) fn chosen_in(resource: &Resource<'_>, part: Value<'_>, name: &str) -> Option<String> {
    match words::choice(part, name) {
        Some(("Reference", target)) => reference(resource, target),
        _ => words::chosen(part, name),
    }
}

/// Turns an element's name into words: `recordedDate` becomes `Recorded date`.
pub(super) fn label(name: &str) -> String {
    let mut label = String::with_capacity(name.len() + 4);
    for (place, letter) in name.trim_start_matches('_').chars().enumerate() {
        if place == 0 {
            label.extend(letter.to_uppercase());
        } else if letter.is_uppercase() {
            label.push(' ');
            label.extend(letter.to_lowercase());
        } else {
            label.push(letter);
        }
    }
    label
}

/// Returns the text of the first of these properties that is a date, a time or a Period. Leaves out the time of day of
/// a date with a time.
pub(super) fn day(resource: &Resource<'_>, names: &[&str]) -> String {
    let texts = names.iter().find_map(|name| {
        let value = resource.get(name)?;
        if value.is_object() {
            words::period(value)
        } else {
            value.as_str().map(|text| words::date(&text).into_owned())
        }
    });
    cell(texts)
}

/// Returns the text for a Reference: its display, or the name of its target. If neither is known, returns the first of
/// these that is known: the identifier in the Reference, the type of the target, the reference string.
pub(super) fn reference(resource: &Resource<'_>, reference: Value<'_>) -> Option<String> {
    let (index, owner) = (resource.index, resource.json);
    let identifier = || {
        let identifier = reference.get("identifier")?;
        words::text(identifier.get("value"))
    };
    let kind = || {
        let target = follow::target(index, owner, reference)?;
        target.get_str("resourceType").map(|name| label(&name))
    };
    follow::who(index, owner, reference)
        .or_else(identifier)
        .or_else(kind)
        .or_else(|| words::text(reference.get("reference")))
}

/// Returns the texts for a Reference or for a list of References, separated by commas.
pub(super) fn references(resource: &Resource<'_>, value: Option<Value<'_>>) -> String {
    let Some(value) = value else { return String::new() };
    let one = value.is_object().then_some(value);
    let named = value.items().chain(one).filter_map(|each| reference(resource, each));
    cell(words::join(named, ", "))
}

/// Returns the texts for the References in the items of a list, such as `participant.individual`.
pub(super) fn references_in(resource: &Resource<'_>, list: &str, name: &str) -> String {
    let items = resource.get(list).into_iter().flat_map(|list| list.items());
    let named = items
        .map(|item| references(resource, item.get(name)))
        .filter(|text| !text.is_empty());
    cell(words::join(named, ", "))
}

/// Returns the texts of the annotations in `note`.
pub(super) fn notes(resource: &Resource<'_>) -> String {
    let items = resource.get("note").into_iter().flat_map(|list| list.items());
    cell(words::join(items.filter_map(|note| words::text(note.get("text"))), " "))
}

/// Joins the non-empty parts with a separator, without duplicates.
pub(super) fn joined(parts: &[String], between: &str) -> String {
    let mut said: Vec<&str> = Vec::with_capacity(parts.len());
    for part in parts {
        if !part.is_empty() && !said.contains(&part.as_str()) {
            said.push(part);
        }
    }
    said.join(between)
}

/// Returns an Address as one line.
pub(super) fn address(value: Value<'_>) -> Option<String> {
    if let Some(text) = words::text(value.get("text")) {
        return Some(text);
    }
    let lines = value.get("line").into_iter().flat_map(|lines| lines.items());
    let lines = lines.filter_map(|line| words::text(Some(line)));
    let rest = ["city", "district", "state", "postalCode", "country"];
    let rest = rest.into_iter().filter_map(|name| words::text(value.get(name)));
    words::join(lines.chain(rest), ", ")
}

/// Returns a ContactPoint as text: its value, then its system and use in parentheses.
pub(super) fn contact(value: Value<'_>) -> Option<String> {
    let number = words::text(value.get("value"))?;
    let about: Vec<String> = ["system", "use"]
        .iter()
        .filter_map(|name| words::text(value.get(name)))
        .collect();
    Some(if about.is_empty() {
        number
    } else {
        format!("{number} ({})", about.join(", "))
    })
}

/// Returns an Identifier as text: its value, or `type: value` if it has a type.
pub(super) fn identifier(value: Value<'_>) -> Option<String> {
    let own = words::text(value.get("value"))?;
    match value.get("type").and_then(words::concept) {
        Some(kind) => Some(format!("{kind}: {own}")),
        None => Some(own),
    }
}
