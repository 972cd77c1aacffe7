//! Randomly changed ViewDefinitions run or are refused, without a panic. Endless nesting is refused.

use std::sync::Arc;

use serde_json::{Value, json};
use tabularium::views::{Format, View};

use super::{rows_of, written};
use crate::harness;
use crate::harness::mutate::{Mutator, survives};

const PATIENT: &str = r#"{"resourceType":"Patient","id":"a","active":true,"name":[{"given":["A",null],"_given":[null,{"id":"i"}]},
    {"family":"F","period":{"start":"2020-02"}}],"contact":[{"name":{"family":"C"},"telecom":[{"value":"1"}]}],
    "extension":[{"url":"u","extension":[{"url":"v","valueDecimal":1.50}]}]}"#;

const WORDS: [&str; 30] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "1e99",
    "\"select\":",
    "\"column\":",
    "\"forEach\":\"name\",",
    "\"forEachOrNull\":\"contact\",",
    "\"repeat\":[\"extension\"],",
    "\"unionAll\":[",
    "\"where\":[{\"path\":\"active\"}],",
    "\"constant\":[{\"name\":\"c\",\"valueString\":\"x\"}],",
    "%rowIndex",
    "%c",
    "\"path\":\"id\",",
    "\"name\":\"n\",",
    "\"collection\":true,",
    "\"type\":\"integer\",",
    "\"resource\":\"Patient\",",
    "()",
    ".first()",
    "\\u0000",
    "é",
];

fn own() -> String {
    json!({"resourceType": "ViewDefinition", "name": "v", "status": "active", "resource": "Patient",
        "constant": [{"name": "c", "valueString": "A"}], "where": [{"path": "active = true"}],
        "select": [{"column": [{"name": "id", "path": "getResourceKey()", "type": "id"}]},
            {"forEach": "name", "column": [{"name": "given", "path": "given.where($this = %c)", "collection": true},
                {"name": "place", "path": "%rowIndex"}],
                "select": [{"forEachOrNull": "period", "column": [{"name": "start", "path": "start"}]}]},
            {"repeat": ["extension"], "column": [{"name": "url", "path": "url"}]},
            {"unionAll": [{"forEach": "contact", "column": [{"name": "x", "path": "name.family"}]},
                {"column": [{"name": "x", "path": "id"}]}]}]})
    .to_string()
}

#[test]
fn changed_views_are_survived() {
    let mut texts = vec![own()];
    // The official suite, where it is at hand.
    if cfg!(shared_records) {
        for entry in std::fs::read_dir(harness::shared().join("conformance/sql-on-fhir")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let suite: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
                texts.extend(
                    suite["tests"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|case| case["view"].to_string()),
                );
            }
        }
    }
    let known = [
        "name.given.first()",
        "id",
        "%c & 'x'",
        "extension.where(url = 'u').extension.value",
        "%rowIndex + 1",
        "$this",
    ];
    let mut paths = Mutator::new(
        22,
        known.to_vec(),
        &[".first()", "(", ")", "name", " | ", "%rowIndex", "'", "forEach"],
    );
    let mut mutator = Mutator::new(21, texts.iter().map(String::as_str).collect(), &WORDS);
    let mut run = 0;
    for round in 0..4000 {
        // Most changed texts are not JSON any more, so paths are also changed by themselves.
        let text = match round % 2 {
            0 => mutator.next(),
            _ => changed_paths(&texts[round % texts.len()], &mut paths),
        };
        survives(&text, |text| {
            let checked = View::check(text.as_bytes());
            match View::parse(text.as_bytes()) {
                Err(error) => {
                    assert!(checked.errors().next().is_some(), "refused without a finding: {error}");
                }
                Ok(view) => {
                    run += 1;
                    let _ = written(rows_of(&Arc::new(view), &[PATIENT]), Format::Json);
                }
            }
        });
    }
    assert!(run > 20, "{run} views ran");
}

/// A view with some expressions replaced by others.
fn changed_paths(view: &str, paths: &mut Mutator<'_>) -> String {
    fn change(value: &mut Value, paths: &mut Mutator<'_>) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| change(item, paths)),
            Value::Object(members) => {
                for (name, member) in members {
                    let text = paths.next();
                    match name.as_str() {
                        "path" | "forEach" | "forEachOrNull" if text.len().is_multiple_of(3) => {
                            *member = Value::String(text)
                        }
                        _ => change(member, paths),
                    }
                }
            }
            _ => {}
        }
    }
    let mut view: Value = serde_json::from_str(view).unwrap();
    change(&mut view, paths);
    view.to_string()
}

#[test]
fn deep_views_are_refused() {
    for depth in [40, 1000, 50_000] {
        for (open, close) in [
            (r#"{"select":["#, "]}"),
            (r#"{"unionAll":["#, "]}"),
            (r#"{"forEach":"name","select":["#, "]}"),
            (r#"{"repeat":["extension"],"unionAll":["#, "]}"),
        ] {
            let core = r#"{"column":[{"name":"id","path":"id"}]}"#;
            let text = format!(
                r#"{{"resource":"Patient","select":[{}{core}{}]}}"#,
                open.repeat(depth),
                close.repeat(depth)
            );
            assert!(View::parse(text.as_bytes()).is_err(), "{open} {depth} times");
            assert!(
                View::check(text.as_bytes()).errors().next().is_some(),
                "{open} {depth} times"
            );
        }
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(View::parse(text.as_bytes()).is_err());
    }
}
