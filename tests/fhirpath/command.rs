//! `tabularium fhirpath` over a resource, over files and over a lake: its results, its explanations and its errors.

use std::process::{Command, Output};

use expect_test::expect;
use serde_json::{Value, json};

fn fhirpath(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .arg("fhirpath")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new() -> Workspace {
        let place = Workspace(tempfile::tempdir().unwrap());
        let patient = |id: &str, given: &[&str]| json!({"resourceType": "Patient", "id": id, "birthDate": "1970-01", "name": [{"family": "Park", "given": given}]});
        place.write("one.json", &patient("a", &["Carmen", "Ada"]).to_string());
        let observation = json!({"resourceType": "Observation", "id": "o", "status": "final",
            "subject": {"reference": "Patient/a"}, "valueQuantity": {"value": 1.50, "unit": "mg"}});
        let bundle = json!({"resourceType": "Bundle", "id": "u", "type": "batch",
            "entry": [{"resource": patient("c", &["Cato"])}]});
        std::fs::create_dir(place.0.path().join("many")).unwrap();
        let lines = format!(
            "{}\n{observation}\n{}\n",
            patient("a", &["Carmen", "Ada"]),
            patient("b", &[])
        );
        place.write("many/1.ndjson", &lines);
        place.write("many/2.json", &serde_json::to_string_pretty(&bundle).unwrap());
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let found = fhirpath(arguments);
        assert_eq!((found.status.code(), text(&found.stderr).as_str()), (Some(0), ""));
        text(&found.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn lake(&self) -> String {
        let lake = self.path("lake");
        let imported = Command::new(env!("CARGO_BIN_EXE_tabularium"))
            .args(["import", "--data", &lake, &self.path("many")])
            .output();
        assert!(imported.unwrap().status.success());
        lake
    }
}

fn names(lines: &[Value]) -> Vec<&str> {
    let mut names: Vec<&str> = lines.iter().map(|line| line["resource"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn one_resource_gives_an_array() {
    let place = Workspace::new();
    let found = fhirpath(&["name.given", "--input", &place.path("one.json")]);
    let expected = "[{\"type\": \"string\", \"value\": \"Carmen\"},\n {\"type\": \"string\", \"value\": \"Ada\"}]\n";
    assert_eq!(text(&found.stdout), expected);
    let bundle = fhirpath(&["entry.count()", "--input", &place.path("many/2.json")]);
    assert_eq!(text(&bundle.stdout), "[{\"type\": \"integer\", \"value\": 1}]\n");
    let constants = [
        "--constant",
        "who=Ada",
        "--constant",
        "least=2",
        "--input",
        &place.path("one.json"),
    ];
    let found = fhirpath(
        &[
            &["name.given contains %who and name.given.count() >= %least"],
            &constants[..],
        ]
        .concat(),
    );
    assert_eq!(text(&found.stdout), "[{\"type\": \"boolean\", \"value\": true}]\n");
}

#[test]
fn many_resources_give_a_line_each() {
    let place = Workspace::new();
    let many = place.path("many");
    let lines = place.lines(&["name.given", "--input", &many]);
    assert_eq!(names(&lines), ["Patient/a", "Patient/b", "Patient/c"]);
    assert_eq!(lines[0]["result"][1], json!({"type": "string", "value": "Ada"}));
    let id = place.lines(&["id", "--input", &many]);
    assert_eq!(
        names(&id),
        ["Bundle/u", "Observation/o", "Patient/a", "Patient/b", "Patient/c"]
    );
    assert_eq!(
        names(&place.lines(&["id", "--input", &many, "--type", "Observation"])),
        ["Observation/o"]
    );
    assert_eq!(place.lines(&["id", "--input", &many, "--limit", "2"]).len(), 2);
    // A single Bundle counts as a resource, unless a type of its entries is requested.
    let inside = place.lines(&["name.given", "--input", &place.path("many/2.json"), "--type", "Patient"]);
    assert_eq!(names(&inside), ["Patient/c"]);
    let whole = fhirpath(&["value", "--input", &many, "--type", "Observation"]);
    assert_eq!(
        text(&whole.stdout),
        "{\"resource\": \"Observation/o\", \"result\": [{\"type\": \"Quantity\", \"value\": {\"value\":1.5,\"unit\":\"mg\"}}]}\n"
    );
}

#[test]
fn a_table_of_a_lake_gives_the_same_lines() {
    let place = Workspace::new();
    let (lake, many) = (place.lake(), place.path("many"));
    for (expression, resource_type) in [
        ("name", "Patient"),
        ("value", "Observation"),
        ("subject.reference", "Observation"),
    ] {
        let sorted = |mut lines: Vec<Value>| {
            lines.sort_by_key(|line| line["resource"].to_string());
            lines
        };
        let of_lake = sorted(place.lines(&[expression, "--data", &lake, "--type", resource_type]));
        let of_files = sorted(place.lines(&[expression, "--input", &many, "--type", resource_type]));
        assert!(!of_lake.is_empty());
        assert_eq!(of_lake, of_files);
    }
    // The scope limits the rows.
    let of_patient = place.lines(&["id", "--data", &lake, "--type", "Patient", "--patient", "a"]);
    assert_eq!(names(&of_patient), ["Patient/a"]);
    assert!(
        place
            .lines(&["id", "--data", &lake, "--type", "Observation", "--patient", "b"])
            .is_empty()
    );
    assert!(
        place
            .lines(&["id", "--data", &lake, "--type", "Patient", "--application", "other"])
            .is_empty()
    );
    assert!(
        place
            .lines(&["id", "--data", &lake, "--type", "Patient", "--mode", "test"])
            .is_empty()
    );
    assert!(place.lines(&["id", "--data", &lake, "--type", "Encounter"]).is_empty());
}

/// With several resources their texts were not read, and the output was `{"value": }`.
#[test]
fn whole_resources_are_printed_as_they_are_written() {
    let place = Workspace::new();
    let one = json!({"resourceType": "Patient", "id": "w", "multipleBirthInteger": 2, "extension": [{"url": "u", "valueDecimal": 1}]});
    let without_id = json!({"resourceType": "Patient", "active": true});
    place.write("two.ndjson", &format!("{one}\n{without_id}\n"));
    let lines = place.lines(&["$this", "--input", &place.path("two.ndjson")]);
    assert_eq!(names(&lines), ["Patient", "Patient/w"]);
    assert_eq!(lines[1]["result"], json!([{"type": "Patient", "value": without_id}]));
    assert_eq!(lines[0]["result"], json!([{"type": "Patient", "value": one}]));
    let of_lake = place.lines(&[
        "%resource",
        "--data",
        &place.lake(),
        "--type",
        "Patient",
        "--patient",
        "a",
    ]);
    assert_eq!(
        of_lake[0]["result"][0]["value"]["name"][0]["given"],
        json!(["Carmen", "Ada"])
    );
}

/// A missing id was an empty text.
#[test]
fn a_resource_without_id_has_none() {
    let place = Workspace::new();
    let without_id = json!({"resourceType": "Patient", "active": true}).to_string();
    place.write("without.json", &without_id);
    place.write("lines.ndjson", &format!("{without_id}\n{without_id}\n"));
    for expression in ["id", "getResourceKey()", "children().ofType(id)"] {
        let found = fhirpath(&[expression, "--input", &place.path("without.json")]);
        assert_eq!(text(&found.stdout), "[]\n", "{expression}");
        for line in place.lines(&[expression, "--input", &place.path("lines.ndjson")]) {
            assert_eq!(line["result"], json!([]), "{expression}");
        }
    }
}

/// Messages must not contain a record's contents, and a pattern may come from a record.
#[test]
fn a_pattern_that_is_none_is_not_repeated() {
    let place = Workspace::new();
    let found = fhirpath(&["'a'.matches(name.family & '(')", "--input", &place.path("one.json")]);
    let said = text(&found.stderr);
    assert_eq!(found.status.code(), Some(2), "{said}");
    assert!(
        said.contains("no regular expression") && !said.contains("Park"),
        "{said}"
    );
}

/// Each round traverses all earlier results. Without its own limit such a repetition took minutes until it was refused.
#[test]
fn a_repetition_without_end_is_refused_soon() {
    let place = Workspace::new();
    let one = place.path("one.json");
    for endless in ["1.repeat($this + 1)", "'a'.repeat($this & 'a')"] {
        let found = fhirpath(&[endless, "--input", &one]);
        let said = text(&found.stderr);
        assert_eq!(found.status.code(), Some(3), "{said}");
        assert!(said.contains("more "), "{said}");
    }
    let long = "1.repeat(iif($this < 500, $this + 1, {})).count()";
    let found = fhirpath(&[long, "--input", &one]);
    assert_eq!(text(&found.stdout), "[{\"type\": \"integer\", \"value\": 499}]\n");
}

/// An expression that multiplies its items ran for seconds on one resource.
#[test]
fn what_costs_too_much_is_exit_code_3() {
    let place = Workspace::new();
    let endless = "descendants().repeatAll($this)";
    for input in ["one.json", "many"] {
        let found = fhirpath(&[endless, "--input", &place.path(input), "--type", "Patient"]);
        let said = text(&found.stderr);
        assert_eq!(
            (found.status.code(), text(&found.stdout).as_str()),
            (Some(3), ""),
            "{said}"
        );
        assert!(said.contains("costs more work") || said.contains("more than"), "{said}");
    }
}

/// `1 + 1` was refused because there was no file.
#[test]
fn without_input_an_expression_is_evaluated_over_nothing() {
    for (expression, expected) in [
        ("1 + 1", r#"[{"type": "integer", "value": 2}]"#),
        ("7L", r#"[{"type": "integer64", "value": 7}]"#),
        ("$this.count()", r#"[{"type": "integer", "value": 0}]"#),
        ("@2020-02-29 + 1 year", r#"[{"type": "date", "value": "2021-02-28"}]"#),
        (
            "('a' | 'b').where($this > 'a')",
            r#"[{"type": "string", "value": "b"}]"#,
        ),
        (
            "now() = now() and 4 'mg' is Quantity",
            r#"[{"type": "boolean", "value": true}]"#,
        ),
    ] {
        let found = fhirpath(&[expression]);
        assert_eq!(text(&found.stdout).trim_end(), expected, "{}", text(&found.stderr));
    }
    for (arguments, expected) in [
        (["name.given"].as_slice(), "name an input with --input or --data"),
        (&["id"], "name an input with --input or --data"),
        (&["Patient.name"], "name an input with --input or --data"),
        (&["1 +"], "unexpected end"),
        (&["1", "--type", "Patient"], "name one with --input or --data"),
        (&["1", "--explain"], "say with --type"),
    ] {
        let found = fhirpath(arguments);
        let said = text(&found.stderr);
        assert_eq!(found.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let explained = fhirpath(&["name.given", "--type", "Patient", "--explain"]);
    assert!(text(&explained.stdout).contains("reads [_name.given, name.given]") || explained.status.success());
}

#[test]
fn jsons_names_are_taken_with_a_warning_and_refused_strictly() {
    let place = Workspace::new();
    let many = place.path("many");
    let found = fhirpath(&["valueQuantity.value", "--input", &many]);
    assert_eq!(found.status.code(), Some(0));
    assert!(
        text(&found.stdout).contains(r#"{"resource": "Observation/o", "result": [{"type": "decimal", "value": 1.5}]}"#)
    );
    let said = "tabularium: warning: 'valueQuantity' is JSON's name, and FHIRPath has value.ofType(Quantity) (line 1, column 1)\n";
    assert_eq!(text(&found.stderr), said);
    let strict = fhirpath(&["valueQuantity.value", "--input", &many, "--strict"]);
    assert_eq!(strict.status.code(), Some(2));
    assert!(text(&strict.stderr).contains("'valueQuantity' is JSON's name; FHIRPath has value.ofType(Quantity)"));
    let own = fhirpath(&["resourceType", "--input", &place.path("one.json")]);
    assert_eq!(text(&own.stdout), "[{\"type\": \"string\", \"value\": \"Patient\"}]\n");
}

#[test]
fn constants_may_be_below_zero() {
    let place = Workspace::new();
    let one = place.path("one.json");
    let found = fhirpath(&["%x + 1", "--constant", "x=-4", "--input", &one]);
    assert_eq!(text(&found.stdout), "[{\"type\": \"integer\", \"value\": -3}]\n");
    let found = fhirpath(&["%context", "--constant", "context=4", "--input", &one]);
    assert_eq!(found.status.code(), Some(2));
}

#[test]
fn an_error_over_one_resource_is_its_own() {
    let place = Workspace::new();
    let found = fhirpath(&[
        "name.given.single()",
        "--input",
        &place.path("many"),
        "--type",
        "Patient",
    ]);
    assert_eq!(found.status.code(), Some(3));
    let lines: Vec<Value> = text(&found.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines[0]["error"].as_str().unwrap().contains("single"), "{lines:?}");
    assert_eq!(lines[1]["result"], json!([]));
    assert_eq!(lines[2]["result"][0]["value"], "Cato");
    assert!(text(&found.stderr).contains("in error over 1 resource"));
}

#[test]
fn a_faulty_expression_is_shown_with_its_place() {
    let place = Workspace::new();
    let (one, many) = (place.path("one.json"), place.path("many"));
    for input in [&one, &many] {
        let found = fhirpath(&[
            "name.where(use = 'official').givn",
            "--input",
            input,
            "--type",
            "Patient",
        ]);
        assert_eq!(found.status.code(), Some(2));
        let said = text(&found.stderr);
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].contains("has no element 'givn' (line 1, column 30)"), "{said}");
        assert_eq!(lines[1], "  name.where(use = 'official').givn");
        assert_eq!(lines[2], format!("  {}^", " ".repeat(29)));
    }
    let code = |arguments: &[&str]| fhirpath(arguments).status.code();
    assert_eq!(code(&["name..given", "--input", &many]), Some(2));
    assert_eq!(code(&["nothingHasThis", "--input", &many]), Some(2));
    assert_eq!(code(&["id", "--input", &place.path("nowhere")]), Some(2));
    assert_eq!(
        code(&["id", "--data", &place.path("nowhere"), "--type", "Patient"]),
        Some(2)
    );
    assert_eq!(code(&["id", "--input", &many, "--type", "Patent"]), Some(2));
    assert_eq!(code(&["id", "--input", &one, "--constant", "x"]), Some(2));
}

#[test]
fn explain_shows_types_columns_and_the_scan() {
    let place = Workspace::new();
    let expression = "name.where(use = 'official').given.first() | deceased.ofType(boolean).toString()";
    let found = fhirpath(&[expression, "--explain", "--data", &place.lake(), "--type", "Patient"]);
    assert_eq!((found.status.code(), text(&found.stderr).as_str()), (Some(0), ""));
    expect![[r#"
        name.where(use = 'official').given.first() | deceased.ofType(boolean).toString() over Patient
        |                     string or String, several  name.given
          first()             string                     name.given
            given             string, several            name.given
              where()         HumanName, several         name
                name          HumanName, several         name
                =             Boolean
                  use         code                       name.use
                  'official'  String
          toString()          String
            ofType()          boolean                    deceasedBoolean
              deceased        boolean or dateTime        deceasedBoolean, deceasedDateTime
              boolean         type
        reads [_deceasedBoolean, deceasedBoolean, name._given, name._given.*, name._use, name.given, name.use]
        LakeScanExec: columns=[id, name.given]
    "#]]
    .assert_eq(&text(&found.stdout));
    let of_file = text(&fhirpath(&[expression, "--explain", "--input", &place.path("many/1.ndjson")]).stdout);
    assert_eq!(
        of_file,
        text(&found.stdout)
            .lines()
            .take(of_file.lines().count())
            .collect::<Vec<_>>()
            .join("\n")
            + "\n"
    );
}
