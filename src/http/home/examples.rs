//! Builds sample calls of operations from the OpenAPI document, so that they never contradict it.

use serde_json::{Map, Value, json};

use super::json::{members, strings, text};
use crate::http::routes::resolved;

/// The maximum depth of sample values. There must be one, because a schema may contain itself.
const DEEP: usize = 6;
/// How many members a sample object has if its schema requires none.
const SHOWN: usize = 3;
const FORM: &str = "application/x-www-form-urlencoded";

/// A sample call.
pub(super) struct Example {
    /// The call as a `curl` command.
    pub(super) curl: String,
    /// The body and its media type.
    pub(super) body: Option<(String, String)>,
    /// A sample response, if it is JSON.
    pub(super) answer: Option<String>,
}

/// The kind of credential that the command sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    Nothing,
    Token,
    Keys,
}

impl Example {
    pub(super) fn of(document: &Value, path: &str, method: &str, operation: &Value, proof: Proof) -> Example {
        let base_url = text(&document["servers"][0]["url"]);
        let body = sent(document, operation);
        let url = quoted(&format!("{base_url}{}", address(path, operation)));
        let mut curl = match method {
            "get" => format!("curl {url}"),
            method => format!("curl -X {} {url}", method.to_ascii_uppercase()),
        };
        match proof {
            Proof::Nothing => {}
            Proof::Token => curl.push_str(" \\\n  -H 'Authorization: Bearer ACCESS_TOKEN'"),
            Proof::Keys => curl.push_str(" \\\n  -u 'PUBLISHABLE_KEY:SECRET_KEY'"),
        }
        if let Some((media, body)) = &body {
            let (media, body) = (quoted(&format!("Content-Type: {media}")), quoted(body));
            curl.push_str(&format!(" \\\n  -H {media} \\\n  -d {body}"));
        }
        let answer = answered(document, operation);
        if matches!(answer, Answered::File) {
            curl.push_str(" \\\n  --output answer");
        }
        Example {
            curl,
            body,
            answer: match answer {
                Answered::Json(text) => Some(text),
                Answered::File | Answered::Other => None,
            },
        }
    }
}

/// Returns a sample value for a parameter, by its schema and its name.
pub(super) fn value_of(path: &str, parameter: &Value) -> String {
    let name = text(&parameter["name"]);
    match (text(&parameter["in"]), name) {
        ("path", "type") if path.starts_with("/fhir/Patient/") => "Observation".to_owned(),
        ("path", "type") => "Patient".to_owned(),
        // The server replaces `$PATIENT_ID` by the id of the token's patient.
        ("path", "id") if path.starts_with("/fhir/Patient/") || path == "/fhir/{type}/{id}" => "$PATIENT_ID".to_owned(),
        ("path", name) => name.to_ascii_uppercase(),
        _ => match sample(&Value::Null, &parameter["schema"], name, 0) {
            Value::String(text) => text,
            other => other.to_string(),
        },
    }
}

/// Builds the path and query of a call, with all parameters of the path and the required ones of the query.
fn address(path: &str, operation: &Value) -> String {
    let mut address = path.to_owned();
    let mut query = form_urlencoded::Serializer::new(String::new());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let (name, value) = (text(&parameter["name"]), value_of(path, parameter));
        match text(&parameter["in"]) {
            "path" => address = address.replace(&format!("{{{name}}}"), &value),
            "query" if parameter["required"] == true => {
                query.append_pair(name, &value);
            }
            _ => {}
        }
    }
    let query = query.finish();
    if query.is_empty() {
        address
    } else {
        format!("{address}?{query}")
    }
}

/// Builds the body of a call, and returns its media type and text. `None` if the operation has no body.
fn sent(document: &Value, operation: &Value) -> Option<(String, String)> {
    let mut content = members(&operation["requestBody"]["content"]);
    let (media, content) = content.next()?;
    let value = match content.get("example") {
        Some(example) => example.clone(),
        None => sample(document, &content["schema"], "", 0),
    };
    let body = match (media, value) {
        (FORM, Value::Object(members)) => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for (name, value) in &members {
                form.append_pair(name, value.as_str().unwrap_or(&value.to_string()));
            }
            form.finish()
        }
        (_, value) => format!("{value:#}"),
    };
    Some((media.to_owned(), body))
}

/// The form of a successful response, for the sample call.
enum Answered {
    Json(String),
    /// Bytes that a terminal cannot show. So the `curl` command writes them to a file.
    File,
    Other,
}

fn answered(document: &Value, operation: &Value) -> Answered {
    let good = members(&operation["responses"]).find(|(status, _)| status.starts_with('2'));
    let content = good.and_then(|(_, response)| members(&response["content"]).next());
    match content {
        Some((media, content)) if media.ends_with("json") => {
            Answered::Json(format!("{:#}", sample(document, &content["schema"], "", 0)))
        }
        Some((media, _)) if !media.starts_with("text/") => Answered::File,
        _ => Answered::Other,
    }
}

/// Returns a sample value that a schema allows.
fn sample(document: &Value, schema: &Value, name: &str, depth: usize) -> Value {
    let schema = resolved(document, schema);
    for known in ["const", "example", "default"] {
        if let Some(value) = schema.get(known) {
            return value.clone();
        }
    }
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    if let Some(first) = schema["oneOf"].get(0).or(schema["anyOf"].get(0)) {
        return sample(document, first, name, depth);
    }
    let schema_type = schema["type"].as_str().or(schema["type"][0].as_str());
    match schema_type.unwrap_or("string") {
        "object" if depth < DEEP => object(document, schema, depth),
        "array" if depth < DEEP => json!([sample(document, &schema["items"], name, depth + 1)]),
        "object" => json!({}),
        "array" => json!([]),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(true),
        "null" => Value::Null,
        _ => written(name, text(&schema["format"])).into(),
    }
}

/// Returns a sample object with the required members, or with the first few if none is required.
fn object(document: &Value, schema: &Value, depth: usize) -> Value {
    let required: Vec<&str> = strings(&schema["required"]).collect();
    let all = members(&schema["properties"]);
    let shown: Vec<(&str, &Value)> = if required.is_empty() {
        all.take(SHOWN).collect()
    } else {
        all.filter(|(name, _)| required.contains(name)).collect()
    };
    let shown = shown
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), sample(document, schema, name, depth + 1)));
    Value::Object(shown.collect::<Map<_, _>>())
}

/// Returns a sample string by the format, or by the member's name if the format is not known.
fn written(name: &str, format: &str) -> &'static str {
    match (format, name) {
        ("date", _) => "2024-05-01",
        ("date-time", _) => "2024-05-01T12:00:00Z",
        ("uuid", _) => "3f1c0a52-7a53-4a0e-9f0d-2f1f4f1c9a11",
        ("email", _) => "me@app.example",
        ("uri" | "url", _) => "https://app.example/",
        (_, "resourceType") => "Patient",
        (_, "redirect_uri") => "https://app.example/callback",
        (_, "origin") => "https://app.example",
        (_, "client_id" | "publishable_key") => "PUBLISHABLE_KEY",
        (_, "client_secret") => "SECRET_KEY",
        (_, "code_challenge") => "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        (_, "scope") => "launch/patient",
        (_, "access_token" | "token") => "ACCESS_TOKEN",
        (_, "identifier") => "urn:example|1",
        _ => "text",
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Value {
        json!({
            "servers": [{"url": "https://x.example"}],
            "components": {"schemas": {"Node": {"type": "object", "required": ["next", "day"], "properties": {
                "next": {"$ref": "#/components/schemas/Node"},
                "day": {"type": "string", "format": "date"},
                "left": {"type": "string"},
            }}}},
        })
    }

    #[test]
    fn a_call_is_a_line_for_a_terminal() {
        let operation = json!({
            "parameters": [
                {"name": "type", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "kind", "in": "query", "required": true, "schema": {"type": "string", "enum": ["it's"]}},
                {"name": "other", "in": "query", "schema": {"type": "string"}},
            ],
            "requestBody": {"content": {FORM: {"schema": {"type": "object", "properties": {"a b": {"type": "integer"}}}}}},
            "responses": {"200": {"content": {"application/pdf": {"schema": {"type": "string"}}}}},
        });
        let example = Example::of(&document(), "/fhir/{type}/{id}", "post", &operation, Proof::Token);
        let expected = "curl -X POST 'https://x.example/fhir/Patient/$PATIENT_ID?kind=it%27s' \\\n  \
            -H 'Authorization: Bearer ACCESS_TOKEN' \\\n  \
            -H 'Content-Type: application/x-www-form-urlencoded' \\\n  -d 'a+b=1' \\\n  --output answer";
        assert_eq!(example.curl, expected);
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn schemas_that_hold_themselves_have_an_end() {
        let operation = json!({
            "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}},
        });
        let example = Example::of(&document(), "/x", "get", &operation, Proof::Nothing);
        assert_eq!(example.curl, "curl 'https://x.example/x'");
        let answer = example.answer.unwrap();
        assert!(
            answer.contains(r#""day": "2024-05-01""#) && !answer.contains("left"),
            "{answer}"
        );
        assert_eq!(answer.matches("next").count(), DEEP);
    }
}
