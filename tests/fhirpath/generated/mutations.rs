//! Randomly changed expressions are parsed, compiled and run, or refused. None panics, and none takes long.

use serde_json::Value;
use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, FhirPathError, compile, parse};

use crate::harness;
use crate::harness::mutate::{Mutator, survives};

const PATIENTS: [&str; 2] = [
    r##"{"resourceType":"Patient","id":"a","active":true,
        "name":[{"given":["A",null,"é"],"_given":[null,{"id":"i"},null]},{"family":"F","period":{"start":"2020-02"}}],
        "birthDate":"1970-06","deceasedDateTime":"2020-01-01T10:00:00+14:00","multipleBirthInteger":2,
        "contained":[{"resourceType":"Organization","id":"o","name":"O"}],"managingOrganization":{"reference":"#o"},
        "extension":[{"url":"u","valueDecimal":-0.10},{"url":"v","extension":[{"url":"w","valueTime":"10:30:00"}]},
            {"url":"q","valueQuantity":{"value":1e-7,"unit":"m","system":"http://unitsofmeasure.org","code":"mm3/{x}"}}]}"##,
    r#"{"resourceType":"Patient","id":"b"}"#,
];

const WORDS: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "`",
    "\\",
    "\\u00e",
    ".",
    ",",
    "$this",
    "$index",
    "$total",
    "%",
    "%resource",
    "@",
    "@T",
    "@2020-02-30",
    " -",
    " + ",
    " * ",
    " / ",
    " div ",
    " | ",
    " & ",
    " and ",
    " is ",
    " as ",
    "/*",
    "*/",
    "//",
    "9223372036854775808",
    "1e9",
    "'mg'",
    " days",
    "where(",
    "repeat(",
];

#[test]
fn changed_expressions_are_survived() {
    let recorded: Vec<Value> = include_str!("../../fixtures/expressions.jsonl")
        .lines()
        .step_by(3)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The official suite, where it is at hand.
    let official: Vec<Value> = if cfg!(shared_records) {
        let path = harness::shared().join("conformance/fhirpath/tests-fhir-r4.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    } else {
        Vec::new()
    };
    let seeds = recorded
        .iter()
        .chain(&official)
        .map(|case| case["expression"].as_str().unwrap());
    let mut mutator = Mutator::new(20, seeds.collect(), &WORDS);
    let type_id = facts().lookup("Patient").unwrap();
    let batch = super::super::batch(type_id, &PATIENTS.map(String::from));
    let (mut parsed, mut compiled) = (0, 0);
    for round in 0..6000 {
        let text = if round % 10 == 0 {
            mutator.noise()
        } else {
            mutator.next()
        };
        survives(&text, |text| {
            parsed += usize::from(parse(text).is_ok());
            for lenient in [false, true] {
                let options = CompileOptions {
                    lenient,
                    ..CompileOptions::default()
                };
                if let Ok(program) = compile(text, type_id, &options) {
                    compiled += 1;
                    let _ = program.evaluate(&batch);
                }
            }
        });
    }
    assert!(
        parsed > 600 && compiled > 600,
        "{parsed} were parsed, {compiled} were compiled"
    );
}

/// Any deep nesting is refused soon, before it can use up the stack.
#[test]
fn deep_nesting_is_refused() {
    let type_id = facts().lookup("Patient").unwrap();
    let nested = |open: &str, core: &str, close: &str| {
        [30, 99, 300, 5_000, 30_000].map(|depth| format!("{}{core}{}", open.repeat(depth), close.repeat(depth)))
    };
    let shapes = [
        nested("(", "1", ")"),
        nested("-", "1", ""),
        nested("+(", "1", ")"),
        nested("name[", "0", "]"),
        nested("name", "", "[0]"),
        nested("name.where(", "true", ")"),
        nested("iif(true, ", "1", ", 2)"),
        nested("name.select(", "given", ")"),
        nested("name.repeat(", "given", ")"),
        nested("descendants().where(", "true", ")"),
        nested("(1 | 2).aggregate($total + ", "1", ", 0)"),
        nested("1 + ", "1", ""),
        nested("true implies ", "true", ""),
        nested("true and (", "true", ")"),
        nested("name.", "given", ""),
        nested("", "name", ".first()"),
        nested("", "1", " is Integer"),
        nested("", "1", " as Integer"),
        nested("{", "", "}"),
        nested("'", "", "'"),
        nested("/*", "1", "*/"),
        nested("extension(", "'u'", ")"),
        nested("`", "", "`"),
        nested("('a' & ", "'b'", ")"),
        nested("name.trace('x', ", "given", ")"),
        nested("name.sort(", "given", ")"),
        nested("name.all(", "true", ")"),
        nested("(1).combine(", "2", ")"),
    ];
    let batch = super::super::batch(type_id, &PATIENTS.map(String::from));
    for shape in &shapes {
        for text in shape {
            let outcome = compile(text, type_id, &CompileOptions::default());
            if let Ok(program) = &outcome {
                let _ = program.evaluate(&batch);
            }
        }
        // No operator or step may be repeated this often.
        let deepest = &shape[4];
        match parse(deepest) {
            Err(FhirPathError::TooDeep { .. } | FhirPathError::TooLong { .. } | FhirPathError::Syntax { .. }) => {}
            other => panic!("{}...: {:?}", &deepest[..20], other.map(|_| "parsed")),
        }
    }
}
