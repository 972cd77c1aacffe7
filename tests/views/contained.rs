//! Views over resources within others: `contained` and the entries of Bundles.

use std::path::Path;
use std::process::Command;

const VIEW: &str = r#"{"resourceType":"ViewDefinition","name":"drugs","status":"active","resource":"MedicationRequest","select":[
    {"column":[{"path":"getResourceKey()","name":"id","type":"string"}]},
    {"forEach":"contained.ofType(Medication)","column":[
        {"path":"getResourceKey()","name":"drug","type":"string"},
        {"path":"code.text","name":"text","type":"string"},
        {"path":"%resource.id","name":"inner","type":"id"},
        {"path":"%rootResource.status","name":"status","type":"code"}],
     "select":[{"forEachOrNull":"ingredient","column":[
        {"path":"strength.numerator.value","name":"strength","type":"decimal"},
        {"path":"item.ofType(CodeableConcept).text","name":"item","type":"string"}]}]}]}"#;

const REQUESTS: &str = concat!(
    r##"{"resourceType":"MedicationRequest","id":"1","status":"active","contained":[{"resourceType":"Patient","id":"p"},{"resourceType":"Medication","id":"a","code":{"text":"A"},"ingredient":[{"itemCodeableConcept":{"text":"x"},"strength":{"numerator":{"value":1.50}}},{"itemCodeableConcept":{"text":"y"}}]}],"medicationReference":{"reference":"#a"}}"##,
    "\n",
    r#"{"resourceType":"MedicationRequest","id":"2","status":"stopped"}"#,
    "\n",
    r#"{"resourceType":"MedicationRequest","id":"3","status":"stopped","contained":[{"resourceType":"Medication","id":"b"},{"resourceType":"Medication","code":{"text":"C"}}]}"#,
    "\n",
);

fn run(view: &str, input: &str, extension: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (view, input) = (write("view.json", view), write(&format!("input.{extension}"), input));
    let output = Command::new(Path::new(env!("CARGO_BIN_EXE_tabularium")))
        .arg("run")
        .arg(view)
        .arg("--input")
        .arg(input)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn contained_resources_are_iterated() {
    let expected = "id,drug,text,inner,status,strength,item\n1,a,A,a,active,1.50,x\n1,a,A,a,active,,y\n3,b,,b,stopped,,\n3,,C,,stopped,,\n";
    assert_eq!(run(VIEW, REQUESTS, "ndjson"), expected);
}

#[test]
fn a_view_over_bundles_looks_into_their_entries() {
    let view = r#"{"resourceType":"ViewDefinition","name":"people","status":"active","resource":"Bundle","select":[
        {"column":[{"path":"id","name":"bundle","type":"id"}]},
        {"forEach":"entry.resource.ofType(Patient)","column":[{"path":"id","name":"id","type":"id"},
            {"path":"name.family.first()","name":"family","type":"string"}]}]}"#;
    let bundle = r#"{"resourceType":"Bundle","id":"b","type":"collection","entry":[
        {"resource":{"resourceType":"Patient","id":"1","name":[{"family":"One"}]}},
        {"resource":{"resourceType":"Observation","id":"2","status":"final","code":{"text":"x"}}},
        {"resource":{"resourceType":"Patient","id":"3"}}]}"#;
    assert_eq!(run(view, bundle, "json"), "bundle,id,family\nb,1,One\nb,3,\n");
}
