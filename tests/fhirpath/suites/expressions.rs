//! Some hundreds of expressions over resources of many types give the same results as npm `fhirpath`. If that departs
//! from the specification, the fixture has the expected result and the reason. `tests/fixtures/expressions.mjs`
//! generated the expected values.

use std::collections::BTreeMap;

use serde_json::Value;
use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, compile};

use super::search_values::{row_json, same};

const RESOURCES: &str = include_str!("../../fixtures/expressions.resources.ndjson");
const EXPECTED: &str = include_str!("../../fixtures/expressions.jsonl");

/// The result of an expression over the resource; `None` for an error.
fn found(resource: &str, expression: &str) -> Option<Vec<Value>> {
    let json: Value = serde_json::from_str(resource).unwrap();
    let type_id = facts().lookup(json["resourceType"].as_str().unwrap()).unwrap();
    let program = compile(expression, type_id, &CompileOptions::default()).ok()?;
    let evaluation = program
        .evaluate(&super::super::batch(type_id, &[resource.to_string()]))
        .ok()?;
    Some(row_json(&evaluation.strict().ok()?, 0))
}

#[test]
fn expressions_yield_what_another_implementation_says() {
    let resources: BTreeMap<String, &str> = RESOURCES
        .lines()
        .map(|line| {
            let json: Value = serde_json::from_str(line).unwrap();
            (json["id"].as_str().unwrap().to_string(), line)
        })
        .collect();
    let (mut agreed, mut corrected, mut failures) = (0, 0, Vec::new());
    for line in EXPECTED.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let expression = line["expression"].as_str().unwrap();
        let resource = line["resource"].as_str().unwrap();
        let found = found(resources[resource], expression);
        let expected = line.get("values").map(|values| values.as_array().unwrap());
        let holds = match (&found, expected) {
            (None, None) => true,
            (Some(found), Some(expected)) => {
                found.len() == expected.len()
                    && found
                        .iter()
                        .zip(expected)
                        .all(|(found, expected)| same(found, expected))
            }
            _ => false,
        };
        match (holds, line.get("reason")) {
            (true, None) => agreed += 1,
            (true, Some(_)) => corrected += 1,
            (false, _) => failures.push(format!(
                "{resource}: {expression}\n  wanted {expected:?}\n  found  {found:?}"
            )),
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(
        agreed > 1000 && corrected < agreed / 10,
        "{agreed} agree, {corrected} are corrected"
    );
}
