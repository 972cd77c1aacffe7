//! Compares a search value with a resource's value for each kind of parameter, as R4's search page defines.
//!
//! The result is `None` if the kind does not support the value or the modifier.

mod number;
mod time;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use super::expression::{Item, relative};
use crate::search::corpus::BASE;
pub(super) use number::amount;
use number::{Number, number, quantity};
use time::date;
pub(super) use time::{span, time_of};

/// The code systems of elements that hold only a code.
pub(super) const BOUND: [(&str, &str, &str); 7] = [
    ("Patient", "gender", "http://hl7.org/fhir/administrative-gender"),
    ("Practitioner", "gender", "http://hl7.org/fhir/administrative-gender"),
    ("Observation", "status", "http://hl7.org/fhir/observation-status"),
    ("Procedure", "status", "http://hl7.org/fhir/event-status"),
    ("Immunization", "status", "http://hl7.org/fhir/event-status"),
    ("CarePlan", "status", "http://hl7.org/fhir/request-status"),
    (
        "MedicationRequest",
        "status",
        "http://hl7.org/fhir/CodeSystem/medicationrequest-status",
    ),
];

/// One value of a search between commas.
pub(super) struct Wanted<'t> {
    pub(super) kind: &'t str,
    pub(super) modifier: Option<&'t str>,
    pub(super) text: &'t str,
    /// The code system that the parameter's codes are bound to.
    pub(super) bound: Option<&'t str>,
    /// Whether the values are family names. Each part of a family name can be found.
    pub(super) is_family: bool,
}

impl Wanted<'_> {
    /// Whether a resource's value matches.
    pub(super) fn holds(&self, item: &Item<'_>) -> Option<bool> {
        match (self.kind, self.modifier) {
            // A text that looks like a date is not a date.
            ("date", None) if item.type_name == Some("String") => Some(false),
            ("date", None) => date(self.text, item.value),
            ("number", None) => number(self.text, item.value),
            ("quantity", None) => quantity(self.text, item.value),
            ("string", None) => {
                let wanted = bare(&plain(self.text));
                let begins = |text: &str| forms(text).iter().any(|form| form.starts_with(&wanted));
                let of_family = |text: &str| self.is_family || some_text(item.value, "family") == Some(text);
                let parts = |text: &str| text.match_indices([' ', '-']).any(|(at, _)| begins(&text[at + 1..]));
                let part_begins = |text: &str| of_family(text) && parts(text);
                Some(strings(item.value).any(|text| begins(text) || part_begins(text)))
            }
            ("string", Some("contains")) => {
                let wanted = bare(&plain(self.text));
                Some(strings(item.value).any(|text| forms(text).iter().any(|form| form.contains(&wanted))))
            }
            // Operators of `_filter`.
            ("string", Some("is-sw")) => {
                let wanted = bare(&plain(self.text));
                Some(strings(item.value).any(|text| {
                    let parts = text.match_indices([' ', '-']).map(|(at, _)| &text[at + 1..]);
                    let parts = parts.filter(|_| some_text(item.value, "family") == Some(text));
                    let mut parts = parts.chain([text]);
                    parts.any(|part| forms(part).iter().any(|form| form.starts_with(&wanted)))
                }))
            }
            ("string", Some(operator @ ("is-eq" | "is-ne" | "is-ew" | "is-gt" | "is-lt" | "is-ge" | "is-le"))) => {
                let wanted = fold(&plain(self.text));
                let ordered = |text: &str| fold(text.trim()).as_str().cmp(wanted.trim());
                Some(strings(item.value).any(|text| match operator {
                    "is-ew" => fold(text).ends_with(&wanted),
                    "is-gt" => ordered(text).is_gt(),
                    "is-lt" => ordered(text).is_lt(),
                    "is-ge" => ordered(text).is_ge(),
                    "is-le" => ordered(text).is_le(),
                    _ => fold(text) == wanted,
                }))
            }
            (kind, Some("is-ne")) => Wanted {
                kind,
                modifier: None,
                ..*self
            }
            .holds(item),
            ("string", Some("exact")) => Some(strings(item.value).any(|text| text == plain(self.text))),
            ("token", None | Some("not")) => token(self.text, item.value, self.bound),
            ("token", Some("text")) => Some(label(&plain(self.text), item.value)),
            ("token", Some("of-type")) => of_type(self.text, item.value),
            // A canonical without a version matches all versions.
            ("uri", None) => {
                let (found, wanted) = (item.value.as_str()?, plain(self.text));
                let any_version = !wanted.contains('|') && found.split('|').next() == Some(&wanted);
                Some(found == wanted || any_version)
            }
            ("uri", Some("below")) => Some(is_under(item.value.as_str()?, &plain(self.text))),
            ("uri", Some("above")) => Some(is_under(&plain(self.text), item.value.as_str()?)),
            ("reference", Some("identifier")) => token(self.text, item.value.get("identifier")?, None).or(Some(false)),
            ("reference", modifier) => reference(self.text, modifier, item.value),
            ("special", None) => near(self.text, item.value),
            _ => None,
        }
    }
}

/// Whether a value is valid for this kind of parameter.
pub(super) fn is_valid(kind: &str, modifier: Option<&str>, text: &str) -> bool {
    match (kind, modifier) {
        ("date", None) => span(split_prefix(text).1).is_some(),
        ("number", None) => Number::parse(split_prefix(text).1).is_some(),
        ("quantity", None) => {
            let parts = split(text, '|');
            [1, 3].contains(&parts.len()) && Number::parse(split_prefix(&parts[0]).1).is_some()
        }
        (kind, Some("is-ne")) => is_valid(kind, None, text),
        ("string", Some("exact")) => !text.is_empty(),
        ("string", None | Some("contains")) => !fold(&plain(text)).is_empty(),
        ("string", Some(operator)) => operator.starts_with("is-"),
        ("token", None | Some("not" | "text" | "of-type")) => !text.is_empty(),
        ("uri", None | Some("below" | "above")) => !text.is_empty(),
        ("special", None) => true,
        ("reference", Some("identifier")) => true,
        ("reference", modifier) => modifier.is_none_or(|name| name.starts_with(char::is_uppercase)),
        _ => false,
    }
}

// ---- texts

/// Splits at separators that are not escaped by a backslash.
pub(super) fn split(text: &str, at: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == at && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        parts.last_mut().unwrap().push(c);
    }
    parts
}

/// A value without escapes.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut escaped = false;
    for c in text.chars() {
        if c == '\\' && !escaped {
            escaped = true;
        } else {
            out.push(c);
            escaped = false;
        }
    }
    out
}

/// A text with escapes, as in a search.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if [',', '|', '$', '\\'].contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

pub(super) fn fold(text: &str) -> String {
    let unseen = |c: char| ['\u{ad}', '\u{200b}', '\u{2060}', '\u{feff}'].contains(&c);
    let counts = |c: &char| !unicode_normalization::char::is_combining_mark(*c) && !unseen(*c);
    of_one_case(&text.nfkd().filter(counts).collect::<String>())
}

/// Folds the case of a text. The sharp s and the final sigma need three steps.
fn of_one_case(text: &str) -> String {
    let small = text.to_lowercase().to_uppercase().to_lowercase();
    small.replace('\u{3c2}', "\u{3c3}")
}

/// A text in the form for string comparison: without case, marks and punctuation, and with single spaces. A text of
/// only punctuation stays.
fn bare(text: &str) -> String {
    const SIGNS: &str = "#$%&*+<=>@^|~";
    let is_mark = |c: &char| c.is_ascii_punctuation() && !SIGNS.contains(*c) || "\u{2013}\u{2019}\u{b4}".contains(*c);
    let folded = fold(text);
    let letters: String = folded.chars().filter(|c| !is_mark(c)).collect();
    let words: Vec<&str> = letters.split_whitespace().collect();
    if words.is_empty() { folded } else { words.join(" ") }
}

/// The forms of a record's text for comparison.
fn forms(text: &str) -> [String; 2] {
    [fold(text), bare(text)]
}

pub(super) fn split_prefix(text: &str) -> (&str, &str) {
    match text.get(..2) {
        Some(prefix @ ("eq" | "ne" | "gt" | "lt" | "ge" | "le" | "sa" | "eb" | "ap")) => (prefix, &text[2..]),
        _ => ("eq", text),
    }
}

fn some_text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    let items = match value.get(name) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(value) => vec![value],
        None => Vec::new(),
    };
    items.into_iter()
}

/// The texts of a string, a name, an address, a telephone number or a concept.
pub(super) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    const PARTS: [&str; 13] = [
        "family",
        "given",
        "prefix",
        "suffix",
        "text",
        "line",
        "city",
        "district",
        "state",
        "postalCode",
        "country",
        "value",
        "display",
    ];
    let parts = PARTS.iter().flat_map(|part| list(value, part));
    let displays = list(value, "coding").flat_map(|coding| list(coding, "display"));
    parts.chain(displays).chain([value]).filter_map(Value::as_str)
}

// ---- tokens

pub(super) fn token(text: &str, value: &Value, bound: Option<&str>) -> Option<bool> {
    let parts: Vec<String> = split(text, '|').iter().map(|part| plain(part)).collect();
    let (system, code) = match parts.as_slice() {
        [code] => (None, code.as_str()),
        [system, code] => (Some(system.as_str()), code.as_str()),
        _ => return None,
    };
    if code.is_empty() && system.is_none_or(str::is_empty) {
        return None;
    }
    let pair = |item: &Value, name: &str| {
        let coded = code.is_empty() || some_text(item, name).is_some_and(|text| of_one_case(text) == of_one_case(code));
        coded
            && match system {
                None => true,
                Some("") => item.get("system").is_none(),
                Some(system) => some_text(item, "system") == Some(system),
            }
    };
    Some(match value {
        Value::String(text) => {
            let of_system = match (system, bound) {
                (None | Some(""), _) => true,
                (Some(system), Some(bound)) => system == bound,
                (Some(_), None) => false,
            };
            of_system && (code.is_empty() || of_one_case(text) == of_one_case(code))
        }
        Value::Bool(value) => {
            let of_system = system.is_none_or(|system| ["", "http://hl7.org/fhir/special-values"].contains(&system));
            of_system && code == value.to_string()
        }
        value if value.get("coding").is_some() => list(value, "coding").any(|coding| pair(coding, "code")),
        // Identifiers and telephone numbers have a value, but Codings do not.
        value if value.get("value").is_some() => pair(value, "value"),
        value => (value.get("code").is_some() || value.get("system").is_some()) && pair(value, "code"),
    })
}

fn label(text: &str, value: &Value) -> bool {
    let wanted = bare(text);
    let hit = |found: &str| forms(found).iter().any(|form| form.starts_with(&wanted));
    let typed = list(value, "type").flat_map(|concept| list(concept, "text"));
    let codings = list(value, "coding").chain([value]);
    let displays = codings.flat_map(|coding| list(coding, "display"));
    let mut all = typed
        .chain(displays)
        .chain(list(value, "text"))
        .filter_map(Value::as_str);
    all.any(hit)
}

fn of_type(text: &str, value: &Value) -> Option<bool> {
    let parts: Vec<String> = split(text, '|').iter().map(|part| plain(part)).collect();
    let [system, code, wanted] = parts.as_slice() else {
        return None;
    };
    let typed = list(value, "type")
        .flat_map(|concept| list(concept, "coding"))
        .any(|coding| {
            some_text(coding, "system") == Some(system)
                && some_text(coding, "code").is_some_and(|found| of_one_case(found) == of_one_case(code))
        });
    Some(typed && some_text(value, "value").is_some_and(|found| fold(found) == fold(wanted)))
}

// ---- URIs and references

/// Whether a URI equals another one or extends it by path segments.
fn is_under(long: &str, short: &str) -> bool {
    let Some(rest) = long.strip_prefix(short) else {
        return false;
    };
    let path = !short.starts_with("urn:");
    rest.is_empty() || path && (short.ends_with('/') || ["/", "?", "#", "|"].iter().any(|mark| rest.starts_with(mark)))
}

fn reference(text: &str, modifier: Option<&str>, value: &Value) -> Option<bool> {
    let text = plain(text);
    let text = text.strip_prefix(BASE).unwrap_or(&text);
    let is_id = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
    let local = |text: &str| match text.split_once('/') {
        Some((resource_type, id)) if is_id(id) && resource_type.starts_with(char::is_uppercase) => {
            Some((resource_type.to_owned(), id.to_owned()))
        }
        _ => None,
    };
    let Some(found) = value.get("reference") else {
        // A canonical or a URI. Without a version it matches all versions.
        let Some(found) = value.as_str() else {
            return Some(false);
        };
        let url = found.split('|').next().unwrap_or_default();
        let any_version = !text.contains('|') && url == text;
        // HL7's own examples use a type and an id to name resources here.
        let of_id = is_id(text) && modifier.is_none() && url == text;
        let here = local(url).is_some_and(|(resource_type, id)| {
            if is_id(text) {
                id == text && modifier.is_none_or(|wanted| wanted == resource_type)
            } else {
                local(text) == Some((resource_type.clone(), id))
                    && modifier.is_none_or(|wanted| wanted == resource_type)
            }
        });
        let is_text = modifier.is_none() && (found == text || any_version);
        return Some(is_text || of_id || here);
    };
    let target = relative(value).and_then(|name| local(&name));
    Some(match (is_id(text), local(text)) {
        (true, _) => target
            .is_some_and(|(resource_type, id)| id == text && modifier.is_none_or(|wanted| wanted == resource_type)),
        (false, Some(wanted)) => {
            if modifier.is_some_and(|modifier| modifier != wanted.0) {
                return None;
            }
            target == Some(wanted)
        }
        (false, None) => found == text,
    })
}

// ---- places

fn near(text: &str, value: &Value) -> Option<bool> {
    let parts = split(text, '|');
    let at = |at: usize| parts.get(at).and_then(|part| part.parse::<f64>().ok());
    let (latitude, longitude) = (at(0)?.to_radians(), at(1)?.to_radians());
    let unit = match parts.get(3).map_or("km", String::as_str) {
        "km" => 1.0,
        "m" => 0.001,
        "[mi_us]" => 1.609_347_218_694_4,
        _ => return None,
    };
    let distance = at(2).map_or(50.0, |distance| distance * unit);
    let (Some(lat), Some(lon)) = (value["latitude"].as_f64(), value["longitude"].as_f64()) else {
        return Some(false);
    };
    // The spherical law of cosines, a different formula from the engine's.
    let lat = lat.to_radians();
    let cosine = latitude.sin() * lat.sin() + latitude.cos() * lat.cos() * (lon.to_radians() - longitude).cos();
    Some(cosine.clamp(-1.0, 1.0).acos() * 6371.0088 <= distance)
}
