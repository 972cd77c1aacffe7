//! Reads each `constant` of a ViewDefinition by the type of its value. A string that does not have the form of its
//! type (a `code` with two spaces) gets a warning and is compared like any string. An invalid date, time or number is
//! an error.

use super::element_path::ElementPath;
use super::finding::Findings;
use super::name::{is_name, no_name};
use super::read::{known, must_be, required_text};
use crate::columns::json::Value;
use crate::fhir::nearest::nearest;
use crate::fhir::outcome::IssueType;
use crate::fhir::temporal::{Temporal, TimeOfDay};
use crate::fhirpath::{Constant, DATA_VARIABLES, SYSTEM_VARIABLES};

/// A constant. Its value is `None` if it could not be read.
#[derive(Clone, Debug)]
pub(in crate::views) struct RawConstant {
    pub(in crate::views) at: String,
    pub(in crate::views) name: String,
    pub(in crate::views) value: Option<Constant>,
}

/// The types that a constant may have, as in the names of its value properties: `Code` for `valueCode`.
const TYPES: [&str; 20] = [
    "Base64Binary",
    "Boolean",
    "Canonical",
    "Code",
    "Date",
    "DateTime",
    "Decimal",
    "Id",
    "Instant",
    "Integer",
    "Integer64",
    "Markdown",
    "Oid",
    "PositiveInt",
    "String",
    "Time",
    "UnsignedInt",
    "Uri",
    "Url",
    "Uuid",
];

/// Reads a constant. `None` if it has no name.
pub(in crate::views) fn constant(
    findings: &mut Findings,
    value: Value<'_>,
    at: &ElementPath<'_>,
) -> Option<RawConstant> {
    let name = required_text(findings, value, at, "name");
    if let Some(name) = &name {
        let place = at.property("name");
        if !is_name(name) {
            findings.error(place, IssueType::Invariant, no_name(name));
        } else if DATA_VARIABLES.contains(&name.as_str()) {
            findings.error(place, IssueType::Value, format!("%{name} is FHIRPath's own"));
        } else if SYSTEM_VARIABLES.contains(&name.as_str()) {
            findings.warn(place, IssueType::Value, format!("hides FHIRPath's own %{name}"));
        }
    }
    let (mut values, mut found) = (Vec::new(), None);
    for (key, value) in value.entries() {
        let key = key.name().into_owned();
        let Some(fhir_type) = key.strip_prefix("value") else {
            continue;
        };
        if !value.is_null() && !values.contains(&key) {
            found = typed(findings, fhir_type, value, &at.property(&key));
            values.push(key);
        }
    }
    match values.len() {
        0 => findings.error(at, IssueType::Required, "has no value[x]"),
        1 => {}
        _ => {
            let problem = format!("has more than one value: {}", values.join(", "));
            findings.error(at, IssueType::Invariant, problem);
        }
    }
    let mut names = vec!["name"];
    names.extend(values.iter().map(String::as_str));
    let extensions: Vec<String> = value
        .entries()
        .map(|(key, _)| key.name().into_owned())
        .filter(|key| key.starts_with("_value"))
        .collect();
    names.extend(extensions.iter().map(|key| &key[1..]));
    known(findings, value, at, "a constant", &names);
    Some(RawConstant {
        at: at.to_string(),
        name: name?,
        value: found,
    })
}

fn typed(findings: &mut Findings, fhir_type: &str, value: Value<'_>, at: &ElementPath<'_>) -> Option<Constant> {
    match fhir_type {
        "Boolean" => {
            if value.as_bool().is_none() {
                findings.error(at, IssueType::Structure, must_be("true or false", value));
            }
            Some(Constant::Boolean(value.as_bool()?))
        }
        "Decimal" => number(findings, value, at).map(Constant::Decimal),
        "Integer" | "PositiveInt" | "UnsignedInt" => {
            let digits = number(findings, value, at)?;
            let min = match fhir_type {
                "PositiveInt" => 1,
                "UnsignedInt" => 0,
                _ => i32::MIN,
            };
            let problem = match digits.parse::<i32>() {
                Ok(integer) if integer >= min => return Some(Constant::Integer(digits)),
                Ok(_) => format!("must be {min} or more"),
                Err(_) => "must be a whole number of 32 bits".to_owned(),
            };
            findings.error(at, IssueType::Value, problem);
            None
        }
        // From R5 on, JSON has an integer64 as a string, because some readers turn numbers into floats.
        "Integer64" => {
            let digits = match value.as_str() {
                Some(digits) => digits.into_owned(),
                None => number(findings, value, at)?,
            };
            if digits.parse::<i64>().is_err() {
                findings.error(at, IssueType::Value, "must be a whole number of 64 bits");
                return None;
            }
            Some(Constant::Integer(digits))
        }
        _ if TYPES.contains(&fhir_type) => {
            let text = super::read::text(findings, value, at)?;
            of_text(findings, fhir_type, text, at)
        }
        _ => {
            let meant = match nearest(fhir_type, TYPES.into_iter()) {
                Some(meant) => format!("; did you mean 'value{meant}'?"),
                None => String::new(),
            };
            let problem = format!("is not a type that a constant can have{meant}");
            findings.error(at, IssueType::NotSupported, problem);
            None
        }
    }
}

fn number(findings: &mut Findings, value: Value<'_>, at: &ElementPath<'_>) -> Option<String> {
    if value.number().is_none() {
        findings.error(at, IssueType::Structure, must_be("a number", value));
    }
    value.number().map(str::to_owned)
}

/// Reads a value that is a string in JSON.
fn of_text(findings: &mut Findings, fhir_type: &str, text: String, at: &ElementPath<'_>) -> Option<Constant> {
    let problem = match fhir_type {
        "Date" => Temporal::date(&text).err(),
        "DateTime" => Temporal::date_time(&text).err(),
        "Instant" => Temporal::instant(&text).err(),
        "Time" => TimeOfDay::parse(&text).err(),
        _ => None,
    };
    if let Some(problem) = problem {
        let name = format!("{}{}", fhir_type[..1].to_ascii_lowercase(), &fhir_type[1..]);
        findings.error(at, IssueType::Value, format!("'{text}' is no {name}: {problem}"));
        return None;
    }
    if !is_usual(fhir_type, &text) {
        let name = format!("{}{}", fhir_type[..1].to_ascii_lowercase(), &fhir_type[1..]);
        findings.warn(at, IssueType::Value, format!("'{text}' is no {name} by FHIR's rules"));
    }
    Some(match fhir_type {
        "Date" => Constant::Date(text),
        "DateTime" | "Instant" => Constant::DateTime(text),
        "Time" => Constant::Time(text),
        _ => Constant::String(text),
    })
}

/// Whether a string has the form of its R4 type.
fn is_usual(fhir_type: &str, text: &str) -> bool {
    let hex = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    match fhir_type {
        "Base64Binary" => {
            use base64::Engine;
            let compact: String = text.split_whitespace().collect();
            base64::engine::general_purpose::STANDARD.decode(compact).is_ok()
        }
        "Canonical" | "Uri" | "Url" => !text.contains(char::is_whitespace),
        "Code" => text
            .split(' ')
            .all(|word| !word.is_empty() && !word.contains(char::is_whitespace)),
        "Id" => {
            text.len() <= 64
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
        }
        "Oid" => text.strip_prefix("urn:oid:").is_some_and(|oid| {
            oid.starts_with(['0', '1', '2'])
                && oid.split('.').all(|arc| {
                    arc == "0"
                        || !arc.starts_with('0') && !arc.is_empty() && arc.bytes().all(|byte| byte.is_ascii_digit())
                })
        }),
        "Uuid" => text.strip_prefix("urn:uuid:").is_some_and(|uuid| {
            let parts: Vec<&str> = uuid.split('-').collect();
            parts.len() == 5
                && parts
                    .iter()
                    .zip([8, 4, 4, 4, 12])
                    .all(|(part, length)| hex(part, length))
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;

    fn read(json: &str) -> (Option<Constant>, Vec<String>) {
        let mut tape = Tape::new();
        let mut findings = Findings::default();
        let value = tape.parse(json.as_bytes()).unwrap();
        let constant =
            constant(&mut findings, value, &ElementPath::Root.property("c")).and_then(|constant| constant.value);
        let said = findings.into_vec().iter().map(|finding| finding.to_string()).collect();
        (constant, said)
    }

    fn text(text: &str) -> Constant {
        Constant::String(text.to_owned())
    }

    #[test]
    fn every_type_has_its_values() {
        for (json, expected) in [
            (r#""valueBase64Binary":"aGk=""#, text("aGk=")),
            (r#""valueBoolean":false"#, Constant::Boolean(false)),
            (r#""valueCanonical":"http://x|1""#, text("http://x|1")),
            (r#""valueCode":"final""#, text("final")),
            (r#""valueDate":"2024-02""#, Constant::Date("2024-02".to_owned())),
            (
                r#""valueDateTime":"2024-02-29T10:00:00Z""#,
                Constant::DateTime("2024-02-29T10:00:00Z".to_owned()),
            ),
            (r#""valueDecimal":1.20"#, Constant::Decimal("1.20".to_owned())),
            (r#""valueId":"a-1""#, text("a-1")),
            (
                r#""valueInstant":"2024-02-29T10:00:00Z""#,
                Constant::DateTime("2024-02-29T10:00:00Z".to_owned()),
            ),
            (r#""valueInteger":-7"#, Constant::Integer("-7".to_owned())),
            (
                r#""valueInteger64":"5000000000""#,
                Constant::Integer("5000000000".to_owned()),
            ),
            (
                r#""valueInteger64":5000000000"#,
                Constant::Integer("5000000000".to_owned()),
            ),
            (r#""valueOid":"urn:oid:1.2.0""#, text("urn:oid:1.2.0")),
            (r#""valuePositiveInt":1"#, Constant::Integer("1".to_owned())),
            (r#""valueString":"a \"b\"""#, text("a \"b\"")),
            (r#""valueTime":"10:00:00""#, Constant::Time("10:00:00".to_owned())),
            (r#""valueUnsignedInt":0"#, Constant::Integer("0".to_owned())),
            (r#""valueUri":"urn:x""#, text("urn:x")),
            (r#""valueUrl":"http://x""#, text("http://x")),
            (
                r#""valueUuid":"urn:uuid:53fefa32-fcbb-4ff8-8a92-55ee120877b7""#,
                text("urn:uuid:53fefa32-fcbb-4ff8-8a92-55ee120877b7"),
            ),
            (
                r#""valueString":"x","_valueString":{"id":"a"},"extension":[]"#,
                text("x"),
            ),
        ] {
            let found = read(&format!(r#"{{"name":"c",{json}}}"#));
            assert_eq!(found, (Some(expected), Vec::new()), "{json}");
        }
    }

    #[test]
    fn what_is_no_constant_is_named() {
        for (json, expected) in [
            (r#"{"name":"c"}"#, "ViewDefinition.c: has no value[x]"),
            (r#"{"valueCode":"x"}"#, "ViewDefinition.c: has no name"),
            (
                r#"{"name":"c","valueInteger":"1"}"#,
                "ViewDefinition.c.valueInteger: must be a number, not a string",
            ),
            (
                r#"{"name":"c","valueInteger":1.5}"#,
                "ViewDefinition.c.valueInteger: must be a whole number of 32 bits",
            ),
            (
                r#"{"name":"c","valuePositiveInt":0}"#,
                "ViewDefinition.c.valuePositiveInt: must be 1 or more",
            ),
            (
                r#"{"name":"c","valueInteger64":"1e3"}"#,
                "ViewDefinition.c.valueInteger64: must be a whole number of 64 bits",
            ),
            (
                r#"{"name":"c","valueBoolean":"true"}"#,
                "ViewDefinition.c.valueBoolean: must be true or false, not a string",
            ),
            (
                r#"{"name":"c","valueString":""}"#,
                "ViewDefinition.c.valueString: is empty",
            ),
            (
                r#"{"name":"c","valueDate":"2024-13"}"#,
                "ViewDefinition.c.valueDate: '2024-13' is no date: the month is not from 01 to 12",
            ),
            (
                r#"{"name":"c","valueInstant":"2024"}"#,
                "ViewDefinition.c.valueInstant: '2024' is no instant: an instant is given to the second, with a zone",
            ),
            (
                r#"{"name":"c","valueQuantity":{}}"#,
                "ViewDefinition.c.valueQuantity: is not a type that a constant can have",
            ),
            (
                r#"{"name":"c","valueBool":true}"#,
                "ViewDefinition.c.valueBool: is not a type that a constant can have",
            ),
            (
                r#"{"name":"c","valuestring":"x"}"#,
                "ViewDefinition.c.valuestring: is not a type that a constant can have; did you mean 'valueString'?",
            ),
            (
                r#"{"name":"c","valueCode":"a","valueId":"b"}"#,
                "ViewDefinition.c: has more than one value: valueCode, valueId",
            ),
            (
                r#"{"name":"_c","valueCode":"a"}"#,
                "ViewDefinition.c.name: '_c' is no name: it may have letters, digits and underscores, a letter first",
            ),
            (
                r#"{"name":"context","valueCode":"a"}"#,
                "ViewDefinition.c.name: %context is FHIRPath's own",
            ),
            (
                r#"{"name":"loinc","valueCode":"a"}"#,
                "ViewDefinition.c.name: hides FHIRPath's own %loinc",
            ),
            (
                r#"{"name":"c","valueCode":"a  b"}"#,
                "ViewDefinition.c.valueCode: 'a  b' is no code by FHIR's rules",
            ),
            (
                r#"{"name":"c","valueUuid":"x"}"#,
                "ViewDefinition.c.valueUuid: 'x' is no uuid by FHIR's rules",
            ),
            (
                r#"{"name":"c","valueOid":"urn:oid:1..2"}"#,
                "ViewDefinition.c.valueOid: 'urn:oid:1..2' is no oid by FHIR's rules",
            ),
        ] {
            assert_eq!(read(json).1.first().map(String::as_str), Some(expected), "{json}");
        }
    }
}
