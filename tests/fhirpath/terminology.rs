//! Value sets and code systems from files: membership of codes, subsumption, and unknown results.

use std::sync::Arc;

use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, compile};
use tabularium::published::PublishedError;
use tabularium::terminology::{Terminology, TerminologyError};

const ANIMALS: &str = r#"{"resourceType": "CodeSystem", "url": "http://animals", "version": "2", "content": "complete",
    "caseSensitive": true, "property": [{"code": "legs", "type": "integer"}, {"code": "parent", "type": "code"}],
    "concept": [
        {"code": "animal", "concept": [
            {"code": "mammal", "display": "Mammals", "concept": [
                {"code": "dog", "display": "Dog", "property": [{"code": "legs", "valueInteger": 4}]},
                {"code": "whale", "property": [{"code": "legs", "valueInteger": 0}]}]},
            {"code": "bird", "property": [{"code": "legs", "valueInteger": 2}]}]},
        {"code": "puppy", "property": [{"code": "parent", "valueCode": "dog"}]},
        {"code": "stone"}]}"#;

const PART: &str = r#"{"resourceType": "CodeSystem", "url": "http://part", "content": "fragment", "caseSensitive": false,
    "concept": [{"code": "A", "concept": [{"code": "A1"}]}, {"code": "B"}]}"#;

fn value_set(name: &str, body: &str) -> String {
    format!(r#"{{"resourceType": "ValueSet", "url": "http://vs/{name}", {body}}}"#)
}

fn terminology(sets: &[String]) -> Terminology {
    let resources = [ANIMALS.to_string(), PART.to_string()];
    let entries: Vec<String> = resources
        .iter()
        .chain(sets)
        .map(|resource| format!(r#"{{"resource": {resource}}}"#))
        .collect();
    let bundle = format!(
        r#"{{"resourceType": "Bundle", "type": "collection", "entry": [{}]}}"#,
        entries.join(",")
    );
    Terminology::parse(&bundle).unwrap()
}

/// Checks a value set with this content against codes of animals: `+` is a member, `-` is not, `?` is unknown.
#[track_caller]
fn check(body: &str, codes: &[&str], expected: &str) {
    let terminology = terminology(&[value_set("x", body)]);
    let set = terminology.value_set("http://vs/x").unwrap();
    let sign = |code: &&str| {
        let (system, code) = code.split_once(' ').unwrap_or(("http://animals", code));
        match set.contains(system, code) {
            Some(true) => '+',
            Some(false) => '-',
            None => '?',
        }
    };
    assert_eq!(codes.iter().map(sign).collect::<String>(), expected, "{body}");
}

const CODES: [&str; 9] = [
    "animal",
    "mammal",
    "dog",
    "whale",
    "bird",
    "puppy",
    "stone",
    "unicorn",
    "http://other dog",
];

fn animals(rest: &str) -> String {
    format!(r#""compose": {{"include": [{{"system": "http://animals"{rest}}}]}}"#)
}

fn filter(property: &str, op: &str, value: &str) -> String {
    animals(&format!(
        r#", "filter": [{{"property": "{property}", "op": "{op}", "value": "{value}"}}]"#
    ))
}

#[test]
fn systems_codes_and_filters() {
    check(&animals(""), &CODES, "+++++++--");
    check(
        &animals(r#", "concept": [{"code": "dog"}, {"code": "unicorn"}]"#),
        &CODES,
        "--+----+-",
    );
    check(&animals(r#", "version": "2""#), &CODES, "+++++++--");
    check(&animals(r#", "version": "1""#), &CODES, "????????-");
    check(&filter("concept", "is-a", "mammal"), &CODES, "-+++-+---");
    check(&filter("concept", "descendent-of", "mammal"), &CODES, "--++-+---");
    check(&filter("concept", "is-not-a", "mammal"), &CODES, "+---+-+--");
    check(&filter("concept", "generalizes", "dog"), &CODES, "+++------");
    check(&filter("concept", "is-a", "nothing"), &CODES, "---------");
    check(&filter("code", "in", "dog, bird"), &CODES, "--+-+----");
    check(&filter("code", "not-in", "dog,bird"), &CODES, "++-+-++--");
    check(&filter("code", "regex", "(m|an).*"), &CODES, "++-------");
    check(&filter("legs", "=", "4"), &CODES, "--+------");
    check(&filter("legs", "exists", "true"), &CODES, "--+++----");
    check(&filter("legs", "exists", "false"), &CODES, "++---++--");
    check(&filter("display", "regex", "D.*"), &CODES, "--+------");
    check(&filter("parent", "=", "dog"), &CODES, "-----+---");
    check(&filter("concept", "unheard-of", "dog"), &CODES, "???????--");
    check(&filter("code", "regex", "("), &CODES, "???????--");
}

#[test]
fn value_sets_of_value_sets() {
    let sets = [
        value_set("mammals", &filter("concept", "is-a", "mammal")),
        value_set("legs", &filter("legs", "exists", "true")),
        value_set(
            "both",
            r#""compose": {"include": [{"valueSet": ["http://vs/mammals", "http://vs/legs"]}]}"#,
        ),
        value_set(
            "but",
            r#""compose": {"include": [{"valueSet": ["http://vs/mammals"]}], "exclude": [{"valueSet": ["http://vs/legs"]}]}"#,
        ),
        value_set(
            "lost",
            r#""compose": {"include": [{"system": "http://animals", "concept": [{"code": "dog"}]}, {"valueSet": ["http://vs/nowhere"]}]}"#,
        ),
        value_set(
            "round",
            r#""compose": {"include": [{"valueSet": ["http://vs/round"]}, {"system": "http://animals", "concept": [{"code": "dog"}]}]}"#,
        ),
    ];
    let terminology = terminology(&sets);
    let contains = |set: &str, code: &str| terminology.value_set(set).unwrap().contains("http://animals", code);
    assert_eq!(contains("http://vs/both", "dog"), Some(true));
    assert_eq!(contains("http://vs/both", "puppy"), Some(false));
    assert_eq!(contains("http://vs/both", "bird"), Some(false));
    assert_eq!(contains("http://vs/but", "puppy"), Some(true));
    assert_eq!(contains("http://vs/but", "dog"), Some(false));
    assert_eq!(contains("http://vs/lost", "dog"), Some(true));
    assert_eq!(contains("http://vs/lost", "bird"), None);
    assert_eq!(contains("http://vs/round", "dog"), Some(true));
    assert_eq!(contains("http://vs/round", "bird"), None);
    assert!(terminology.value_set("http://vs/nowhere").is_none());
    assert!(terminology.value_set("http://vs/both|1").is_none());
}

#[test]
fn parts_of_systems_and_expansions() {
    let part = |rest: &str| format!(r#""compose": {{"include": [{{"system": "http://part"{rest}}}]}}"#);
    let codes = ["http://part a", "http://part A1", "http://part C", "dog"];
    check(&part(""), &codes, "++?-");
    check(&part(r#", "concept": [{"code": "A"}]"#), &codes, "+---");
    check(
        &part(r#", "filter": [{"property": "concept", "op": "is-a", "value": "A"}]"#),
        &codes,
        "++?-",
    );
    let expansion = |rest: &str| {
        format!(
            r#""expansion": {{{rest} "contains": [{{"abstract": true, "system": "http://animals", "code": "animal", "contains": [
                {{"system": "http://animals", "code": "dog"}}]}}, {{"system": "http://other", "code": "dog"}}]}}"#
        )
    };
    check(&expansion(""), &CODES, "--+-----+");
    check(&expansion(r#""total": 3,"#), &CODES, "--+-----+");
    check(&expansion(r#""total": 4,"#), &CODES, "??+?????+");
    let unclosed =
        r#""extension": [{"url": "http://hl7.org/fhir/StructureDefinition/valueset-unclosed", "valueBoolean": true}],"#;
    check(&expansion(unclosed), &CODES, "??+?????+");
    let unknown = r#""compose": {"include": [{"system": "http://unknown"}]}, "#;
    check(
        &format!("{unknown}{}", expansion("")),
        &["http://unknown x", "dog"],
        "--",
    );
}

#[test]
fn versions() {
    let version = |version: &str, code: &str| {
        let body = animals(&format!(r#", "concept": [{{"code": "{code}"}}]"#));
        value_set("v", &format!(r#""version": "{version}", {body}"#))
    };
    let terminology = terminology(&[
        version("1.10.0", "dog"),
        version("1.9.0", "bird"),
        version("1.9.0", "whale"),
    ]);
    let contains = |set: &str, code: &str| terminology.value_set(set).unwrap().contains("http://animals", code);
    assert_eq!(contains("http://vs/v", "dog"), Some(true));
    assert_eq!(contains("http://vs/v|1.9.0", "whale"), Some(true));
    assert_eq!(contains("http://vs/v|1.9.0", "bird"), Some(false));
    assert!(terminology.value_set("http://vs/v|2").is_none());
}

#[test]
fn subsumption() {
    let terminology = terminology(&[]);
    let subsumes = |one: &str, other: &str| terminology.subsumes("http://animals", one, other);
    assert_eq!(subsumes("animal", "puppy"), Some(true));
    assert_eq!(subsumes("dog", "dog"), Some(true));
    assert_eq!(subsumes("puppy", "dog"), Some(false));
    assert_eq!(subsumes("mammal", "bird"), Some(false));
    assert_eq!(subsumes("mammal", "unicorn"), None);
    assert_eq!(terminology.subsumes("http://part", "a", "a1"), Some(true));
    assert_eq!(terminology.subsumes("http://part", "B", "A1"), None);
    assert_eq!(terminology.subsumes("http://none", "x", "x"), Some(true));
    assert_eq!(terminology.subsumes("http://none", "x", "y"), None);
}

const ROWS: [&str; 5] = [
    r#"{"resourceType": "Condition", "id": "1", "language": "dog",
        "code": {"coding": [{"system": "http://part", "code": "B"}, {"system": "http://animals", "code": "puppy"}]},
        "bodySite": [{"coding": [{"system": "http://animals", "code": "mammal"}]}]}"#,
    r#"{"resourceType": "Condition", "id": "2", "code": {"coding": [{"system": "http://animals", "code": "stone"}]}}"#,
    r#"{"resourceType": "Condition", "id": "3", "code": {"text": "none"}}"#,
    r#"{"resourceType": "Condition", "id": "4"}"#,
    r#"{"resourceType": "Condition", "id": "5", "language": "stone", "code": {"coding": [{"system": "http://unknown", "code": "x"}]},
        "bodySite": [{"coding": [{"system": "http://animals", "code": "dog"}]}, {"text": "two"}]}"#,
];

#[test]
fn expressions_over_rows() {
    let sets = [
        value_set("mammals", &filter("concept", "is-a", "mammal")),
        value_set(
            "open",
            r#""compose": {"include": [{"system": "http://animals"}, {"system": "http://unknown"}]}"#,
        ),
    ];
    let options = CompileOptions {
        terminology: Some(Arc::new(terminology(&sets))),
        ..CompileOptions::default()
    };
    let type_id = facts().lookup("Condition").unwrap();
    let batch = super::batch(type_id, &ROWS.map(String::from));
    let shown = |expression: &str| -> String {
        let program = compile(expression, type_id, &options).unwrap();
        let evaluation = program.evaluate(&batch).unwrap();
        let answer = |row: usize| {
            if evaluation.faults.iter().any(|fault| fault.row as usize == row) {
                return '!';
            }
            match evaluation
                .collection
                .first(row)
                .map(|(items, item)| items.boolean(item))
            {
                Some(Some(true)) => '+',
                Some(Some(false)) => '-',
                _ => '?',
            }
        };
        (0..ROWS.len()).map(answer).collect()
    };
    for (expression, expected) in [
        ("code.memberOf('http://vs/mammals')", "+--?-"),
        ("code.memberOf('http://vs/open')", "++-??"),
        ("code.coding.first().memberOf('http://vs/mammals')", "--??-"),
        ("code.coding.memberOf('http://vs/mammals')", "?-??-"),
        ("language.memberOf('http://vs/mammals')", "+???-"),
        ("language.toString().memberOf('http://vs/mammals')", "+???-"),
        ("language.toString().memberOf('http://vs/open')", "?????"),
        (
            "code.memberOf('http://vs/' & iif(language.exists(), 'mammals', 'open'))",
            "++-?-",
        ),
        ("code.memberOf('http://vs/nowhere')", "?????"),
        ("bodySite.first().subsumes(code)", "+???-"),
        ("code.subsumedBy(bodySite.first())", "+???-"),
        ("bodySite.first().coding.subsumes(code.coding.last())", "+???!"),
        ("bodySite.subsumes(code)", "+????"),
    ] {
        assert_eq!(shown(expression), expected, "{expression}");
    }
    let leaves = |expression: &str| -> Vec<String> {
        compile(expression, type_id, &options)
            .unwrap()
            .leaves()
            .iter()
            .cloned()
            .collect()
    };
    assert_eq!(
        leaves("code.memberOf('http://vs/mammals')"),
        ["code.coding.code", "code.coding.system"]
    );
    assert_eq!(
        leaves("code.coding.first().memberOf('http://vs/mammals')"),
        ["code.coding.code", "code.coding.system"]
    );
}

#[test]
fn files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    assert!(matches!(
        Terminology::load(folder.path()),
        Err(TerminologyError::Empty { .. })
    ));
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    write("a.json", ANIMALS);
    write("package.json", "{\"name\": 1}");
    write(".index.json", "no JSON");
    write(
        "other.json",
        r#"{"resourceType": "DocumentReference", "content": [{"attachment": {}}]}"#,
    );
    let lines = [value_set("one", &animals("")), value_set("two", &animals(""))].join("\n");
    write("sub/sets.ndjson", &(lines + "\n"));
    let terminology = Terminology::load(folder.path()).unwrap();
    assert_eq!(
        terminology.code_system("http://animals|2").unwrap().version(),
        Some("2")
    );
    assert_eq!(
        terminology
            .value_set("http://vs/two")
            .unwrap()
            .contains("http://animals", "dog"),
        Some(true)
    );
    assert!(Terminology::load(&folder.path().join("a.json")).is_ok());
    write("wrong.json", r#"{"resourceType": "ValueSet", "url": 5}"#);
    let error = Terminology::load(folder.path()).unwrap_err();
    assert!(error.to_string().contains("wrong.json: invalid type"), "{error}");
    let missing = Terminology::load(&folder.path().join("missing")).unwrap_err();
    assert!(matches!(
        missing,
        TerminologyError::Published(PublishedError::Unreadable { .. })
    ));
}

/// The program's output for these arguments, and its exit code.
fn program(arguments: &[&str], folder: &std::path::Path) -> (String, Option<i32>) {
    let found = std::process::Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = [found.stdout, found.stderr].concat();
    (String::from_utf8(text).unwrap(), found.status.code())
}

#[test]
fn the_commands_take_terminology() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    std::fs::create_dir(folder.path().join("terms")).unwrap();
    write("terms/animals.json", ANIMALS);
    write(
        "terms/mammals.json",
        &value_set("mammals", &filter("concept", "is-a", "mammal")),
    );
    write("rows.ndjson", &ROWS.map(|row| row.replace('\n', " ")).join("\n"));
    write("one.json", ROWS[0]);
    write(
        "view.json",
        r#"{"resourceType": "ViewDefinition", "status": "active", "name": "mammals", "resource": "Condition",
            "where": [{"path": "code.memberOf('http://vs/mammals')"}],
            "select": [{"column": [{"name": "id", "path": "id"}]}]}"#,
    );
    let run = ["run", "view.json", "--input", "rows.ndjson", "--terminology", "terms"];
    assert_eq!(program(&run, folder.path()), ("id\n1\n".to_string(), Some(0)));
    assert_eq!(program(&run[..4], folder.path()), ("id\n".to_string(), Some(0)));
    let evaluate = [
        "fhirpath",
        "code.memberOf('http://vs/mammals')",
        "--input",
        "one.json",
        "--terminology",
        "terms",
    ];
    let (found, code) = program(&evaluate, folder.path());
    assert_eq!(
        (found.trim(), code),
        (r#"[{"type": "boolean", "value": true}]"#, Some(0))
    );
    let (error, code) = program(
        &["fhirpath", "1", "--input", "one.json", "--terminology", "nowhere"],
        folder.path(),
    );
    assert!(error.starts_with("tabularium: nowhere: ") && code == Some(2), "{error}");
}
