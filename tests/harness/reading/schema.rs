//! Validates a value against a schema of the OpenAPI document. It supports the JSON Schema keywords that the document
//! uses; an unknown keyword is an error.
//!
//! It is stricter than the standard in one way: undeclared members are faults unless the schema allows others. So an
//! answer and its schema cannot drift apart.
//!
//! The crates for full JSON Schema would change how the tests parse numbers (`serde_json/float_roundtrip`).

use serde_json::{Map, Value};

/// The faults of a value; empty if it matches the schema.
pub(crate) fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Check {
        document,
        found: &mut found,
    }
    .value(schema, value, "$");
    found
}

struct Check<'c> {
    document: &'c Value,
    found: &'c mut Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, schema: &Value, value: &Value, place: &str) {
        let keywords = schema.as_object().unwrap_or_else(|| panic!("no schema: {schema}"));
        for (keyword, argument) in keywords {
            let holds = match keyword.as_str() {
                "$ref" => {
                    let target = argument.as_str().unwrap().strip_prefix('#').unwrap();
                    let target = self.document.pointer(target);
                    let target = target.unwrap_or_else(|| panic!("{argument} leads nowhere"));
                    self.value(target, value, place);
                    continue;
                }
                "properties" | "additionalProperties" => {
                    self.members(keywords, value, place);
                    continue;
                }
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.value(argument, item, &format!("{place}[{at}]"));
                    }
                    continue;
                }
                "required" => {
                    let names = argument.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                    let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
                    self.found
                        .extend(missing.map(|name| format!("{place}.{name} is missing")));
                    continue;
                }
                "oneOf" => {
                    let of = |one: &Value| faults(self.document, one, value);
                    let found: Vec<Vec<String>> = argument.as_array().unwrap().iter().map(of).collect();
                    let holding = found.iter().filter(|faults| faults.is_empty()).count();
                    if holding != 1 {
                        self.found.push(format!("{place}: {holding} of oneOf hold: {found:?}"));
                    }
                    continue;
                }
                "type" => match argument {
                    Value::Array(types) => types.iter().any(|schema_type| is_of(value, schema_type)),
                    schema_type => is_of(value, schema_type),
                },
                "const" => value == argument,
                "enum" => argument.as_array().unwrap().contains(value),
                "minItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= argument.as_u64().unwrap()),
                "maxItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 <= argument.as_u64().unwrap()),
                "minimum" => value.as_f64().is_none_or(|number| number >= argument.as_f64().unwrap()),
                "format" => match (argument.as_str().unwrap(), value.as_str()) {
                    ("date-time", Some(text)) => chrono::DateTime::parse_from_rfc3339(text).is_ok(),
                    ("binary", _) => true,
                    (_, None) => true,
                    (other, _) => panic!("the format {other} is not known"),
                },
                "description" => true,
                other => panic!("the keyword {other} is not known"),
            };
            if !holds {
                self.found
                    .push(format!("{place} is {value}, which {keyword} {argument} forbids"));
            }
        }
    }

    /// Checks each member by its own schema, and others by the schema for others.
    fn members(&mut self, keywords: &Map<String, Value>, value: &Value, place: &str) {
        let Some(members) = value.as_object() else { return };
        let others = keywords.get("additionalProperties").unwrap_or(&Value::Bool(false));
        for (name, member) in members {
            let place = format!("{place}.{name}");
            match (keywords.get("properties").and_then(|own| own.get(name)), others) {
                (Some(schema), _) => self.value(schema, member, &place),
                (None, Value::Bool(true)) => {}
                (None, Value::Bool(false)) => self.found.push(format!("{place} is not declared")),
                (None, schema) => self.value(schema, member, &place),
            }
        }
    }
}

fn is_of(value: &Value, schema_type: &Value) -> bool {
    match schema_type.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the type {other} is not known"),
    }
}

#[test]
fn faults_are_found() {
    use serde_json::json;
    let document = json!({"components": {"schemas": {"Name": {"type": "string", "enum": ["a", "b"]}}}});
    let name = json!({"$ref": "#/components/schemas/Name"});
    let schema = json!({
        "type": "object", "required": ["name"],
        "properties": {"name": name, "at": {"type": ["string", "null"], "format": "date-time"},
            "many": {"type": "array", "minItems": 1, "items": {"oneOf": [name, {"type": "integer", "minimum": 0}]}},
            "open": {"type": "object", "additionalProperties": {"type": "boolean"}}},
    });
    let of = |value: Value| faults(&document, &schema, &value);
    for good in [
        json!({"name": "a"}),
        json!({"name": "b", "at": null, "many": ["a", 0], "open": {"x": true}}),
        json!({"name": "b", "at": "2027-01-15T08:00:00Z", "open": {}}),
    ] {
        assert_eq!(of(good.clone()), [""; 0], "{good}");
    }
    for bad in [
        json!([]),
        json!({}),
        json!({"name": "c"}),
        json!({"name": 1}),
        json!({"name": "a", "other": 1}),
        json!({"name": "a", "at": "soon"}),
        json!({"name": "a", "at": 1}),
        json!({"name": "a", "many": []}),
        json!({"name": "a", "many": ["a", -1]}),
        json!({"name": "a", "many": [null]}),
        json!({"name": "a", "open": {"x": 1}}),
    ] {
        assert!(!of(bad.clone()).is_empty(), "{bad}");
    }
}
