//! The project's own check of a resource: R4's cardinalities, JSON types, and the forms of primitives. It ignores value
//! sets, invariants and profiles.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use super::coding::trim;
use crate::columns::json::Value;
use crate::fhir::decimal::Decimal;
use crate::fhir::reference::is_id;
use crate::fhir::temporal::{Precision, Temporal, TimeOfDay};
use crate::fhir::{Element, Kind, Primitive, TypeId, facts};
use crate::normalize::walk::{is_present, resource_type};

/// A fault in a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The resource states no type of R4.
    UnknownType,
    /// R4 has no such element at this place.
    UnknownElement,
    /// A required element is missing.
    Missing,
    /// There is a list where R4 allows one value, or a choice element has values of two types.
    TooMany,
    /// There is a single value where R4 requires a list.
    NoList,
    /// The value has the wrong JSON type, such as a number in place of a string.
    Type,
    /// The value does not have the form of its primitive type.
    Form,
    /// A code with leading or trailing white space.
    Space,
    /// A property without content: `null`, `""`, `[]` or `{}`.
    Empty,
}

/// A fault and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place, such as `Observation.component[1].code`.
    pub path: String,
    /// The fault.
    pub fault: Fault,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.fault {
            Fault::UnknownType => "is no resource type of R4",
            Fault::UnknownElement => "is no element of R4",
            Fault::Missing => "is required and missing",
            Fault::TooMany => "has more values than R4 admits",
            Fault::NoList => "should be a list",
            Fault::Type => "has the wrong JSON type",
            Fault::Form => "has not the form of its type",
            Fault::Space => "has white space around it",
            Fault::Empty => "is empty",
        };
        write!(f, "{} {what}", self.path)
    }
}

/// Returns the faults of a resource. The list is empty if the resource is valid by R4's cardinalities and types.
pub fn check(json: Value<'_>) -> Vec<Problem> {
    match resource_type(json) {
        Some(type_id) => problems(json, type_id),
        None => vec![Problem {
            path: String::new(),
            fault: Fault::UnknownType,
        }],
    }
}

pub(super) fn problems(root: Value<'_>, type_id: TypeId) -> Vec<Problem> {
    let mut check = Check { problems: Vec::new() };
    let path = Path {
        parent: None,
        name: facts().get(type_id).name,
        at: None,
    };
    check.object(root, type_id, &path);
    check.problems
}

/// Returns a bit mask with one bit for the element. The element's `ordinal` in its type is the position of the bit.
fn bit(element: &Element) -> u128 {
    1 << element.ordinal.min(127)
}

/// Returns the bit mask of all required elements of a type.
fn required(type_id: TypeId) -> u128 {
    static REQUIRED: OnceLock<Vec<u128>> = OnceLock::new();
    let of_type = |type_id| {
        let elements = facts().get(type_id).elements.iter();
        elements
            .filter(|element| element.min > 0)
            .map(bit)
            .fold(0, |all, bit| all | bit)
    };
    REQUIRED.get_or_init(|| facts().types().map(of_type).collect())[type_id.index()]
}

/// The current place in the resource. It is turned into text only if there is a fault.
#[derive(Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    name: &'p str,
    at: Option<usize>,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}.")?;
        }
        f.write_str(self.name)?;
        self.at.map_or(Ok(()), |at| write!(f, "[{at}]"))
    }
}

struct Check {
    problems: Vec<Problem>,
}

impl Check {
    #[cold]
    fn fault(&mut self, path: &Path<'_>, fault: Fault) {
        self.problems.push(Problem {
            path: path.to_string(),
            fault,
        });
    }

    fn object(&mut self, object: Value<'_>, type_id: TypeId, path: &Path<'_>) {
        if !object.is_object() {
            return self.fault(path, Fault::Type);
        }
        let facts = facts();
        let def = facts.get(type_id);
        let mut has = 0_u128;
        let mut choice: Option<(u16, TypeId)> = None;
        let mut is_empty = true;
        for (key, value) in object.entries() {
            is_empty = false;
            let name = if key.is_escaped() {
                key.name()
            } else {
                Cow::Borrowed(key.raw())
            };
            if def.kind == Kind::Resource && name == "resourceType" {
                continue;
            }
            let path = Path {
                parent: Some(path),
                name: &name,
                at: None,
            };
            // Do not use `strip_prefix`, because this runs for every property, and `strip_prefix` would cost a call.
            let bare = (name.as_bytes().first() == Some(&b'_')).then(|| &name[1..]);
            let child = facts.child(type_id, bare.unwrap_or(&name));
            let Some(child) = child.filter(|child| bare.is_none() || is_primitive(child.type_id)) else {
                self.fault(&path, Fault::UnknownElement);
                continue;
            };
            let element = child.element;
            if !is_present(value) {
                // A required element without content is reported as missing below.
                if element.min == 0 {
                    self.fault(&path, Fault::Empty);
                }
                continue;
            }
            has |= bit(element);
            if element.choice {
                if choice.is_some_and(|(ordinal, type_id)| ordinal == element.ordinal && type_id != child.type_id) {
                    self.fault(&path, Fault::TooMany);
                }
                choice = Some((element.ordinal, child.type_id));
            }
            let sibling = || {
                let other = bare.map_or_else(|| format!("_{name}"), str::to_owned);
                object.get(&other)
            };
            if !element.many && value.is_array() {
                self.fault(&path, Fault::TooMany)
            } else if !element.many {
                self.value(value, child.type_id, bare.is_some(), &path)
            } else if !value.is_array() {
                self.fault(&path, Fault::NoList)
            } else {
                for (at, item) in value.items().enumerate() {
                    let path = Path { at: Some(at), ..path };
                    // Values and their extensions are in parallel lists, such as `given` and `_given`. A null in one
                    // list is allowed only if the other list has an item at the same index.
                    if item.is_null() && is_primitive(child.type_id) {
                        let other = sibling().and_then(|list| list.items().nth(at));
                        if other.is_none_or(|other| other.is_null()) {
                            self.fault(&path, Fault::Empty);
                        }
                    } else {
                        self.value(item, child.type_id, bare.is_some(), &path);
                    }
                }
            }
        }
        if is_empty {
            self.fault(path, Fault::Empty);
        }
        if has & required(type_id) == required(type_id) {
            return;
        }
        for element in def.elements.iter().filter(|element| element.min > 0) {
            if has & bit(element) == 0 {
                let path = Path {
                    parent: Some(path),
                    name: element.name,
                    at: None,
                };
                self.fault(&path, Fault::Missing);
            }
        }
    }

    fn value(&mut self, value: Value<'_>, type_id: TypeId, is_extension: bool, path: &Path<'_>) {
        match facts().get(type_id).kind {
            Kind::Primitive(primitive) if !is_extension => {
                let text = if matches!(primitive, Primitive::Boolean) || is_number(primitive) {
                    None
                } else {
                    value.as_str()
                };
                let fault = match &text {
                    Some(text) if has_form(primitive, text) => None,
                    Some(text) if primitive == Primitive::Code && has_form(primitive, trim(text)) => Some(Fault::Space),
                    Some(_) => Some(Fault::Form),
                    None => scalar(primitive, value),
                };
                if let Some(fault) = fault {
                    self.fault(path, fault);
                }
            }
            Kind::Resource => match resource_type(value) {
                Some(type_id) => self.object(value, type_id, path),
                None => self.fault(path, Fault::UnknownType),
            },
            _ => self.object(value, type_id, path),
        }
    }
}

fn is_primitive(type_id: TypeId) -> bool {
    matches!(facts().get(type_id).kind, Kind::Primitive(_))
}

fn is_number(primitive: Primitive) -> bool {
    use Primitive::{Decimal, Integer, PositiveInt, UnsignedInt};
    matches!(primitive, Decimal | Integer | PositiveInt | UnsignedInt)
}

/// Returns the fault of a boolean or a number. Other primitives must be strings. They come here only if their value is
/// no string, so they get [`Fault::Type`].
fn scalar(primitive: Primitive, value: Value<'_>) -> Option<Fault> {
    let fits = match primitive {
        Primitive::Boolean => return value.as_bool().is_none().then_some(Fault::Type),
        Primitive::Decimal => Decimal::parse(value.number().unwrap_or_default()).is_ok(),
        Primitive::Integer => whole(value).is_some(),
        Primitive::PositiveInt => whole(value).is_some_and(|number| number > 0),
        Primitive::UnsignedInt => whole(value).is_some_and(|number| number >= 0),
        _ => return Some(Fault::Type),
    };
    match (value.number(), fits) {
        (None, _) => Some(Fault::Type),
        (Some(_), fits) => (!fits).then_some(Fault::Form),
    }
}

fn whole(value: Value<'_>) -> Option<i32> {
    value.number()?.parse().ok()
}

/// Whether a text has the form of a primitive.
fn has_form(primitive: Primitive, text: &str) -> bool {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let has_space = || text.as_bytes().iter().any(is_space);
    match primitive {
        Primitive::String | Primitive::Markdown => !text.trim().is_empty(),
        // Words that are separated by single spaces.
        Primitive::Code => {
            let mut words = text.as_bytes().split(|byte| *byte == b' ');
            words.all(|word| !word.is_empty() && !word.iter().any(is_space))
        }
        Primitive::Id => is_id(text),
        Primitive::Uri | Primitive::Url | Primitive::Canonical => !text.is_empty() && !has_space(),
        Primitive::Oid => text.strip_prefix("urn:oid:").is_some_and(|oid| {
            oid.starts_with(['0', '1', '2']) && oid.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        }),
        Primitive::Uuid => text.strip_prefix("urn:uuid:").is_some_and(is_uuid),
        Primitive::Base64Binary => is_base64(text),
        Primitive::Xhtml => text.trim_start().starts_with("<div"),
        Primitive::Date => Temporal::date(text).is_ok(),
        // A date alone is allowed. With a time, seconds and a time zone are required. Only searches may leave them out.
        Primitive::DateTime => Temporal::date(text).is_ok() || Temporal::instant(text).is_ok(),
        Primitive::Instant => Temporal::instant(text).is_ok(),
        Primitive::Time => TimeOfDay::parse(text).is_ok_and(|time| time.precision >= Precision::Second),
        _ => false,
    }
}

/// Whether a text is base64: groups of four characters, with white space between groups.
fn is_base64(text: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let mut groups = 0_usize;
    for word in text.split_ascii_whitespace() {
        if word.len() % 4 != 0 || !word.bytes().all(is_one) {
            return false;
        }
        groups += word.len() / 4;
    }
    groups > 0
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;

    fn found(json: &str) -> Vec<String> {
        let mut tape = Tape::new();
        let problems = check(tape.parse(json.as_bytes()).unwrap());
        problems.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn problems_are_named() {
        assert_eq!(
            found(
                r#"{"resourceType":"Observation","status":"final ","code":[{}],"effectiveDateTime":"soon","valueString":"x",
                    "valueInteger":1,"note":{"text":"x"},"issued":3,"color":"red","component":[{"valueBoolean":"true"},{"code":{}}],
                    "subject":{"reference":""},"_effectiveDateTime":{"extension":[{"valueString":"x"}]}}"#
            ),
            [
                "Observation.status has white space around it",
                "Observation.code has more values than R4 admits",
                "Observation.effectiveDateTime has not the form of its type",
                "Observation.valueInteger has more values than R4 admits",
                "Observation.note should be a list",
                "Observation.issued has the wrong JSON type",
                "Observation.color is no element of R4",
                "Observation.component[0].valueBoolean has the wrong JSON type",
                "Observation.component[0].code is required and missing",
                "Observation.component[1].code is required and missing",
                "Observation.subject.reference is empty",
                "Observation._effectiveDateTime.extension[0].url is required and missing",
            ]
        );
        assert_eq!(found(r#"{"resourceType":"Nobody"}"#), [" is no resource type of R4"]);
    }

    #[test]
    fn primitives_have_the_form_of_r4() {
        for (primitive, good, bad) in [
            (
                Primitive::DateTime,
                &[
                    "2024",
                    "2024-02",
                    "2024-02-29",
                    "2024-02-29T10:00:00Z",
                    "2024-02-29T10:00:00.5-05:00",
                ][..],
                &[
                    "2024-02-30",
                    "2024-02-29T10:00",
                    "2024-02-29T10:00:00",
                    "2024-02-29T10Z",
                    "29.2.2024",
                ][..],
            ),
            (
                Primitive::Date,
                &["2024", "2024-02-29"],
                &["2024-02-29T10:00:00Z", "2024-2-29"],
            ),
            (
                Primitive::Instant,
                &["2024-02-29T10:00:00Z"],
                &["2024-02-29", "2024-02-29T10:00:00"],
            ),
            (
                Primitive::Time,
                &["10:00:00", "10:00:00.25"],
                &["10:00", "10", "25:00:00"],
            ),
            (
                Primitive::Base64Binary,
                &["AAAA", "AA==\nAAA="],
                &["", "AAA", "AA AA", "Ä===", "AAAA A"],
            ),
        ] {
            good.iter()
                .for_each(|text| assert!(has_form(primitive, text), "{text}"));
            bad.iter()
                .for_each(|text| assert!(!has_form(primitive, text), "{text}"));
        }
    }

    #[test]
    fn valid_resources_have_none() {
        for json in [
            r#"{"resourceType":"Patient","name":[{"given":["A",null],"_given":[null,{"extension":[{"url":"u","valueCode":"x"}]}]}],
                "_birthDate":{"extension":[{"url":"u","valueCode":"unknown"}]},"multipleBirthInteger":2}"#,
            r#"{"resourceType":"Observation","_status":{"extension":[{"url":"u","valueCode":"unknown"}]},"code":{"text":"x"},
                "valueQuantity":{"value":1.50},"contained":[{"resourceType":"Patient","id":"p"}]}"#,
        ] {
            assert_eq!(found(json), [] as [&str; 0], "{json}");
        }
    }
}
