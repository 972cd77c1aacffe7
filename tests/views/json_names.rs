//! Views with JSON's names, as analysts write them: `valueCoding`, `servicedDate`, `resourceType`. Three views like
//! those of quickstarts run through the program over real records. The results are compared with the JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness;

const US_CORE: &str = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-";

fn column(name: &str, path: &str) -> Value {
    json!({"name": name, "path": path})
}

fn view(resource: &str, select: Value) -> Value {
    json!({"resourceType": "ViewDefinition", "status": "active", "resource": resource, "select": select})
}

/// One row per person, with US Core's extensions.
fn people() -> Value {
    let of = |extension: &str| format!("extension.where(url = '{US_CORE}{extension}')");
    view(
        "Patient",
        json!([{"column": [
            column("id", "id"),
            column("race", &format!("{}.extension.where(url = 'ombCategory').valueCoding.code.first()", of("race"))),
            column("ethnicity", &format!("{}.extension.where(url = 'text').valueString.first()", of("ethnicity"))),
            column("sex", &format!("{}.valueCode", of("birthsex"))),
            column("births", "multipleBirthInteger"),
        ]}]),
    )
}

/// One row per line of a claim.
fn lines() -> Value {
    view(
        "ExplanationOfBenefit",
        json!([{"column": [column("claim", "id")]}, {"forEach": "item", "column": [
            column("line", "sequence"),
            column("day", "servicedDate"),
            column("start", "servicedPeriod.start"),
            column("place", "locationCodeableConcept.coding.code.first()"),
            column("code", "productOrService.coding.code.first()"),
        ]}]),
    )
}

/// One row per claim, with its references and contained resources.
fn claims() -> Value {
    let of =
        |resource_type: &str, path: &str| format!("contained.where(resourceType = '{resource_type}').{path}.first()");
    let list = |name: &str, path: &str| json!({"name": name, "path": path, "collection": true});
    view(
        "ExplanationOfBenefit",
        json!([{"column": [
            column("claim", "id"),
            column("type", "resourceType"),
            list("diagnoses", "diagnosis.diagnosisCodeableConcept.coding.code"),
            list("procedures", "procedure.procedureCodeableConcept.coding.code"),
            list("quantities", "supportingInfo.valueQuantity.value"),
            column("cover", &of("Coverage", "type.text")),
            column("requested", &of("ServiceRequest", "id")),
            column("organization", &of("Organization", "id")),
            column("organization_name", &of("Organization", "name")),
            column("organization_number", &of("Organization", "identifier.value")),
        ]}]),
    )
}

/// A claim with a contained Organization, beside a contained resource of another type with a name.
fn contained() -> Value {
    json!({"resourceType": "ExplanationOfBenefit", "id": "made", "contained": [
            {"resourceType": "Practitioner", "id": "p", "name": [{"family": "Nobody"}], "identifier": [{"value": "no"}]},
            {"resourceType": "Organization", "id": "o", "name": "Clinic", "identifier": [{"value": "12"}, {"value": "13"}]}],
        "supportingInfo": [{"sequence": 1, "category": {"text": "days"}, "valueQuantity": {"value": 3.50}},
            {"sequence": 2, "category": {"text": "text"}, "valueString": "none"}]})
}

/// The resources of a type in files, including entries of Bundles.
fn resources(files: &[PathBuf], resource_type: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for file in files {
        let document: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        let entries = document["entry"].as_array().cloned().unwrap_or_default();
        let all = entries
            .into_iter()
            .map(|entry| entry["resource"].clone())
            .chain([document]);
        found.extend(all.filter(|resource| resource["resourceType"] == resource_type));
    }
    found
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect()
}

fn tabularium(arguments: &[&str], files: &[PathBuf]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    command.args(arguments);
    for file in files {
        command.arg("--input").arg(file);
    }
    command.output().unwrap()
}

/// Rows without nulls, sorted by their text.
fn sorted(rows: impl IntoIterator<Item = Value>) -> Vec<String> {
    let mut texts: Vec<String> = rows
        .into_iter()
        .map(|mut row| {
            row.as_object_mut()
                .unwrap()
                .retain(|_, value| !value.is_null() && *value != json!([]));
            row.to_string()
        })
        .collect();
    texts.sort_unstable();
    texts
}

fn run(view: &Value, files: &[PathBuf]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.json");
    std::fs::write(&path, view.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let output = tabularium(&["run", path, "--format", "ndjson"], files);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("is JSON's name, and FHIRPath has"), "{said}");
    let strict = tabularium(&["run", path, "--format", "ndjson", "--strict"], files);
    let said = String::from_utf8_lossy(&strict.stderr).into_owned();
    assert_eq!(strict.status.code(), Some(2));
    assert!(said.contains("is JSON's name; FHIRPath has"), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    sorted(text.lines().map(|line| serde_json::from_str(line).unwrap()))
}

/// The first item of a list with this value of a property.
fn first<'v>(list: &'v Value, property: &str, wanted: &str) -> &'v Value {
    let mut found = list
        .as_array()
        .into_iter()
        .flatten()
        .filter(|one| one[property] == wanted);
    found.next().unwrap_or(&Value::Null)
}

fn codes(list: &Value, concept: &str) -> Value {
    let concepts = list.as_array().into_iter().flatten();
    let codings = concepts.flat_map(|one| one[concept]["coding"].as_array().into_iter().flatten());
    codings
        .filter(|coding| coding["code"].is_string())
        .map(|coding| coding["code"].clone())
        .collect()
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn the_views_of_a_quickstart_run_over_real_records() {
    let shared = harness::shared();
    let data = shared.join("data");
    let made = tempfile::tempdir().unwrap();
    std::fs::write(made.path().join("made.json"), contained().to_string()).unwrap();
    let mut files = json_files(&data.join("carin/ig-1.1.0"));
    for folder in [
        data.join("carin/ig-2.0.0"),
        data.join("synthea"),
        made.path().to_owned(),
    ] {
        files.extend(json_files(&folder));
    }

    let patients = resources(&files, "Patient");
    let expected = patients.iter().map(|patient| {
        let of = |name: &str| first(&patient["extension"], "url", &format!("{US_CORE}{name}"));
        json!({"id": patient["id"], "sex": of("birthsex")["valueCode"], "births": patient["multipleBirthInteger"],
            "race": first(&of("race")["extension"], "url", "ombCategory")["valueCoding"]["code"],
            "ethnicity": first(&of("ethnicity")["extension"], "url", "text")["valueString"]})
    });
    let rows = run(&people(), &files);
    assert_eq!(rows, sorted(expected));
    assert!(
        rows.iter().filter(|row| row.contains("\"race\":\"2106-3\"")).count() > 3,
        "{rows:?}"
    );

    let claims_found = resources(&files, "ExplanationOfBenefit");
    let expected = claims_found.iter().flat_map(|claim| {
        let items = claim["item"].as_array().cloned().unwrap_or_default();
        items.into_iter().map(|item| {
            let first_code = |concept: &str| codes(&json!([item]), concept).get(0).cloned();
            json!({"claim": claim["id"], "line": item["sequence"], "day": item["servicedDate"],
                "start": item["servicedPeriod"]["start"], "place": first_code("locationCodeableConcept"),
                "code": first_code("productOrService")})
        })
    });
    let rows = run(&lines(), &files);
    assert_eq!(rows, sorted(expected));
    assert!(rows.iter().any(|row| row.contains("\"day\":\"")) && rows.iter().any(|row| row.contains("\"start\":\"")));

    let expected = claims_found.iter().map(|claim| {
        let of = |resource_type: &str| first(&claim["contained"], "resourceType", resource_type);
        let quantities = claim["supportingInfo"].as_array().into_iter().flatten();
        let quantities = quantities.map(|info| info["valueQuantity"]["value"].clone());
        json!({"claim": claim["id"], "type": "ExplanationOfBenefit",
            "diagnoses": codes(&claim["diagnosis"], "diagnosisCodeableConcept"),
            "procedures": codes(&claim["procedure"], "procedureCodeableConcept"),
            "quantities": quantities.filter(|value| !value.is_null()).collect::<Vec<_>>(),
            "cover": of("Coverage")["type"]["text"], "requested": of("ServiceRequest")["id"],
            "organization": of("Organization")["id"], "organization_name": of("Organization")["name"],
            "organization_number": of("Organization")["identifier"][0]["value"]})
    });
    let rows = run(&claims(), &files);
    assert_eq!(rows, sorted(expected));
    assert!(rows.iter().any(|row| row.contains("\"procedures\":[")));
    let made = rows.iter().find(|row| row.contains("\"claim\":\"made\"")).unwrap();
    assert!(
        made.contains(r#""organization":"o","organization_name":"Clinic","organization_number":"12""#),
        "{made}"
    );
}

#[test]
fn what_fhirpath_has_is_advised() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("view.json");
    std::fs::write(&path, claims().to_string()).unwrap();
    let path = path.to_str().unwrap();
    let advised = tabularium(&["validate-view", path], &[]);
    assert_eq!(advised.status.code(), Some(0));
    let said = String::from_utf8(advised.stdout).unwrap();
    for expected in [
        "column 'quantities': 'valueQuantity' is JSON's name, and FHIRPath has value.ofType(Quantity) (line 1, column 16)",
        "column 'organization': 'resourceType' is JSON's name, and FHIRPath has type().name, or ofType(...)",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let strict = tabularium(&["validate-view", "--strict", path], &[]);
    assert_eq!(strict.status.code(), Some(2));
    let said = String::from_utf8(strict.stdout).unwrap();
    assert!(
        said.contains(
            "error: ViewDefinition.select[0].column[4].path: column 'quantities': 'valueQuantity' is JSON's name;"
        ),
        "{said}"
    );
}
