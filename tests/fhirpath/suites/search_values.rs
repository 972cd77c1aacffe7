//! The search parameters' expressions give the same results over real records as npm `fhirpath`, and a row's result
//! does not depend on other rows. `tests/fixtures/search_values.mjs` generated the expected values.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use serde_json::Value;
use tabularium::columns::json::Tape;
use tabularium::fhir::search_parameter::{SearchParameters, SearchType};
use tabularium::fhir::{TypeId, facts};
use tabularium::fhirpath::{Collection, CompileOptions, Program, compile};

use crate::harness;
use crate::harness::Real;

const EXPECTED: &str = include_str!("../../fixtures/search_values.jsonl");

struct Expected {
    resource: String,
    /// Values by parameter. Parameters without values are absent.
    values: BTreeMap<String, Vec<Value>>,
}

/// The resources of the fixture by type, read from the real records.
fn expected(real: &Real) -> BTreeMap<String, Vec<Expected>> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut by_type: BTreeMap<String, Vec<Expected>> = BTreeMap::new();
    for line in EXPECTED.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let file = line["file"].as_str().unwrap();
        // The excerpt of the records has some of the files.
        if !real.is_whole && !real.data.join(file).exists() {
            continue;
        }
        let text = files
            .entry(file.to_string())
            .or_insert_with(|| std::fs::read_to_string(real.data.join(file)).unwrap());
        let mut tape = Tape::new();
        let root = tape.parse(text.as_bytes()).unwrap();
        let resource = match line["place"].as_i64().unwrap() {
            -1 => root.raw().to_string(),
            place => {
                let entry = root.get("entry").unwrap().items().nth(place as usize).unwrap();
                entry.get("resource").unwrap().raw().to_string()
            }
        };
        let values = serde_json::from_value(line["values"].clone()).unwrap();
        by_type
            .entry(line["type"].as_str().unwrap().to_string())
            .or_default()
            .push(Expected { resource, values });
    }
    by_type
}

pub(in crate::fhirpath) fn row_json(collection: &Collection, row: usize) -> Vec<Value> {
    collection
        .range(row)
        .map(|item| {
            let (items, item) = collection.item(item);
            let mut json = String::new();
            items.write_json(item, &mut json);
            serde_json::from_str(&json).unwrap()
        })
        .collect()
}

/// Whether two JSON values are equal, with numbers compared by value.
pub(in crate::fhirpath) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, value)| right.get(name).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn programs(type_id: TypeId) -> Vec<(String, Program)> {
    let options = CompileOptions {
        search: true,
        ..CompileOptions::default()
    };
    SearchParameters::builtin()
        .of(type_id)
        .filter(|parameter| parameter.search_type != SearchType::Composite)
        .filter_map(|parameter| {
            let expression = parameter.expression.as_deref()?;
            Some((
                parameter.code.to_string(),
                compile(expression, type_id, &options).unwrap(),
            ))
        })
        .collect()
}

fn evaluate(program: &Program, batch: &RecordBatch) -> Collection {
    program.evaluate(batch).unwrap().strict().unwrap()
}

#[test]
fn search_parameters_yield_what_another_implementation_says() {
    let real = harness::real();
    let (mut compared, mut failures) = (0, Vec::new());
    for (name, resources) in expected(&real) {
        let type_id = facts().lookup(&name).unwrap();
        let texts: Vec<String> = resources.iter().map(|expected| expected.resource.clone()).collect();
        let batch = super::super::batch(type_id, &texts);
        for (code, program) in programs(type_id) {
            let collection = evaluate(&program, &batch);
            for (row, expected) in resources.iter().enumerate() {
                let wanted = expected.values.get(&code).cloned().unwrap_or_default();
                let found = row_json(&collection, row);
                compared += 1;
                if wanted.len() != found.len() || !wanted.iter().zip(&found).all(|(left, right)| same(left, right)) {
                    failures.push(format!(
                        "{name} {code} row {row}\n  wanted {wanted:?}\n  found  {found:?}"
                    ));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {compared}:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(compared > if real.is_whole { 2000 } else { 100 }, "{compared}");
}

#[test]
fn a_row_yields_the_same_alone_and_among_others() {
    let real = harness::real();
    for (name, resources) in expected(&real) {
        let type_id = facts().lookup(&name).unwrap();
        let texts: Vec<String> = resources.into_iter().map(|expected| expected.resource).collect();
        let batch = super::super::batch(type_id, &texts);
        let programs = programs(type_id);
        let together: Vec<Collection> = programs.iter().map(|(_, program)| evaluate(program, &batch)).collect();
        for (row, text) in texts.iter().enumerate() {
            let (sliced, alone) = (
                batch.slice(row, 1),
                super::super::batch(type_id, std::slice::from_ref(text)),
            );
            for ((code, program), together) in programs.iter().zip(&together) {
                let together = row_json(together, row);
                assert_eq!(
                    row_json(&evaluate(program, &sliced), 0),
                    together,
                    "{name} {code} row {row}, sliced"
                );
                assert_eq!(
                    row_json(&evaluate(program, &alone), 0),
                    together,
                    "{name} {code} row {row}, alone"
                );
            }
        }
    }
}
