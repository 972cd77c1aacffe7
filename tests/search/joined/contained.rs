//! Contained resources as matches and as targets of chains (R4 search, 3.1.1.5.5).

use serde_json::{Value, json};

use super::super::small::{Small, small};
use crate::harness::records;

fn request(id: &str, patient: &str, contained: Value, reference: &str) -> Value {
    json!({"resourceType": "MedicationRequest", "id": id, "status": "active", "intent": "order", "contained": contained,
        "subject": {"reference": format!("Patient/{patient}")}, "medicationReference": {"reference": reference}})
}

fn medication(id: &str, ingredient: &str, status: &str) -> Value {
    json!({"resourceType": "Medication", "id": id, "status": status, "ingredient": [{"itemCodeableConcept":
        {"coding": [{"system": "http://acme.com./medications", "code": ingredient}]}}]})
}

fn world() -> Small {
    let mut resources = vec![
        request("23", "a", json!([medication("m1", "abc", "active")]), "#m1"),
        request(
            "24",
            "b",
            json!([medication("m1", "xyz", "active"), {"resourceType": "Patient", "id": "p"}, medication("m2", "abc", "inactive")]),
            "#m1",
        ),
        request(
            "25",
            "b",
            json!([medication("m1", "abc", "active"), medication("m3", "abc", "inactive")]),
            "Medication/whole",
        ),
        medication("whole", "abc", "active"),
        medication("m1", "other", "active"),
        json!({"resourceType": "List", "id": "l", "status": "current", "mode": "working", "entry": [
            {"item": {"reference": "Medication/m1"}}]}),
        json!({"resourceType": "Observation", "id": "inner", "status": "final", "code": {"text": "x"},
            "contained": [{"resourceType": "Patient", "id": "p1", "name": [{"family": "Taylor"}], "gender": "female"},
                {"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"}}],
            "subject": {"reference": "#p1"}}),
        json!({"resourceType": "Observation", "id": "outer", "status": "final", "code": {"text": "x"},
            "subject": {"reference": "Patient/a"}}),
    ];
    resources.extend(["a", "b"].map(|id| json!({"resourceType": "Patient", "id": id, "name": [{"family": "Baker"}]})));
    small(&resources)
}

#[test]
fn chains_are_evaluated_inside() {
    world().check(&[
        ("MedicationRequest?medication.ingredient-code=abc", "23 25"),
        ("MedicationRequest?medication:Medication.ingredient-code=xyz", "24"),
        // Only the referenced contained resource counts, not others beside it.
        ("MedicationRequest?medication.status=inactive", ""),
        ("Observation?subject:Patient.name=taylor", "inner"),
        ("Observation?patient.name=taylor", "inner"),
        ("Observation?patient.name=baker", "outer"),
        ("Observation?subject.gender=female", "inner"),
        ("Observation?subject:Group.identifier=taylor", ""),
        ("Observation?_filter=subject.name sw \"tay\"", "inner"),
        (
            "Observation?subject:Patient._has:Observation:subject:status=final",
            "outer",
        ),
    ]);
}

#[test]
fn contained_resources_are_matches_when_asked_for() {
    let world = world();
    let application = records::application("local");
    let urls = |query: &str| world.urls(&application, query).join(" ");
    // Without a sort the order is the lake's.
    let lying = |query: &str| {
        let mut urls = world.urls(&application, query);
        urls.sort();
        urls.join(" ")
    };
    assert_eq!(lying("Medication?ingredient-code=abc"), "Medication/whole");
    assert_eq!(
        lying("Medication?ingredient-code=abc&_contained=false"),
        "Medication/whole"
    );
    let containers = "MedicationRequest/23 MedicationRequest/24 MedicationRequest/25";
    let alone = "MedicationRequest/23#m1 MedicationRequest/24#m2 MedicationRequest/25#m1 MedicationRequest/25#m3";
    for count in [1, 2, 3, 20] {
        let urls = |query: &str| urls(&format!("{query}&_count={count}"));
        let lying = |query: &str| lying(&format!("{query}&_count={count}"));
        assert_eq!(lying("Medication?ingredient-code=abc&_contained=true"), containers);
        assert_eq!(
            lying("Medication?ingredient-code=abc&_contained=true&_containedType=container"),
            containers
        );
        assert_eq!(
            lying("Medication?ingredient-code=abc&_contained=true&_containedType=contained"),
            alone
        );
        assert_eq!(
            lying("Medication?ingredient-code=abc&_contained=both"),
            format!("Medication/whole {containers}")
        );
        assert_eq!(
            lying("Medication?ingredient-code=abc&_contained=both&_containedType=contained"),
            format!("Medication/whole {alone}")
        );
        // Equal keys are ordered by id; for contained resources by the container's id first.
        assert_eq!(
            urls("Medication?ingredient-code=abc&_contained=both&_containedType=contained&_sort=-status"),
            "MedicationRequest/24#m2 MedicationRequest/25#m3 MedicationRequest/23#m1 MedicationRequest/25#m1 Medication/whole"
        );
        assert_eq!(
            urls("Medication?ingredient-code=abc&_contained=both&_sort=-status"),
            "MedicationRequest/24 MedicationRequest/25 MedicationRequest/23 Medication/whole"
        );
        // A container that is a match itself appears once.
        assert_eq!(
            lying("Observation?status=final&_contained=both"),
            "Observation/inner Observation/outer"
        );
        assert_eq!(
            lying("Observation?status=final&_contained=both&_containedType=contained"),
            "Observation/inner Observation/inner#o Observation/outer"
        );
    }
    assert_eq!(
        lying("Patient?name=taylor&_contained=true&_containedType=contained"),
        "Observation/inner#p1"
    );
    assert_eq!(
        lying("Medication?_id=m1&_contained=true&_containedType=contained&ingredient-code=xyz"),
        "MedicationRequest/24#m1"
    );
    // Contained resources follow the others, type by type.
    assert!(urls("Medication?ingredient-code=abc&_contained=both").starts_with("Medication/whole "));
    assert!(
        urls("?_type=Patient,Medication&_contained=true&_containedType=contained").contains("#p1 MedicationRequest/")
    );
    // Lists and references cannot name contained resources, whatever their ids.
    assert_eq!(lying("Medication?_list=l&_contained=both"), "Medication/m1");
    assert_eq!(
        lying("Medication?_has:MedicationRequest:medication:status=active&_contained=both&_containedType=contained"),
        "Medication/whole"
    );
    assert_eq!(
        lying("?_type=Medication,Patient&_contained=true&_containedType=contained"),
        "MedicationRequest/23#m1 MedicationRequest/24#m1 MedicationRequest/24#m2 MedicationRequest/24#p MedicationRequest/25#m1 \
         MedicationRequest/25#m3 Observation/inner#p1"
    );
}

#[test]
fn explain_shows_the_plans_that_find_their_containers() {
    let explained = world().explained("Medication?_contained=true");
    let steps = explained["steps"].as_array().unwrap();
    let inside = steps.iter().find(|step| step["step"] == "inside").unwrap();
    let plans: Vec<&str> = inside["plans"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let scans = plans
        .iter()
        .filter(|plan| plan.contains("LakeScanExec") && plan.contains("contains Medication"));
    assert!(scans.count() > 0, "{inside:#}");
}

#[test]
fn what_a_page_of_them_shows() {
    let world = world();
    let page = world
        .page(
            "Medication?ingredient-code=abc&_contained=both&_containedType=contained&_total=accurate&_elements=status",
        )
        .unwrap();
    assert_eq!(page["total"], 5);
    let mut entries = page["entry"].as_array().unwrap().iter();
    let url = "http://example.org/fhir/MedicationRequest/23#m1";
    let entry = entries.find(|entry| entry["fullUrl"] == url).unwrap();
    assert_eq!(entry["search"]["mode"], "match");
    assert_eq!(entry["resource"]["resourceType"], "Medication");
    assert_eq!(entry["resource"]["id"], "m1");
    assert!(entry["resource"]["ingredient"].is_null());
    let counted = world
        .page("Medication?ingredient-code=abc&_contained=true&_summary=count")
        .unwrap();
    assert_eq!((&counted["total"], &counted["entry"]), (&json!(3), &Value::Null));
    let with_patients = world
        .page("Medication?ingredient-code=xyz&_contained=true&_include=MedicationRequest:subject")
        .unwrap();
    let urls: Vec<&str> = with_patients["entry"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            entry["fullUrl"]
                .as_str()
                .unwrap()
                .strip_prefix("http://example.org/fhir/")
                .unwrap()
        })
        .collect();
    assert_eq!(urls, ["MedicationRequest/24", "Patient/b"]);
}

/// A patient token finds resources contained in its own records, and none of others'.
#[test]
fn through_a_scope() {
    let world = world();
    let scope = records::patient(&world.lake, "local", "a");
    let query = "Medication?ingredient-code=abc&_contained=true&_containedType=contained";
    assert_eq!(world.urls(&scope, query), ["MedicationRequest/23#m1"]);
    assert_eq!(
        world.found_by(&scope, "MedicationRequest?medication.ingredient-code=abc"),
        ["23"]
    );
    assert_eq!(
        world.found_by(&scope, "MedicationRequest?medication.ingredient-code=xyz"),
        Vec::<String>::new()
    );
    let other = records::application("other");
    assert!(world.urls(&other, query).is_empty());
}

/// `patient` is the target of `subject` if that is a Patient, contained or not. `:missing` and `_sort` used to ignore
/// contained Patients.
#[test]
fn what_a_reference_inwards_is_of_counts_for_missing_and_order() {
    let world = world();
    world.check(&[
        ("Observation?patient:missing=false", "inner outer"),
        ("Observation?patient:missing=true", ""),
        ("Observation?subject:missing=true", ""),
        ("Observation?_filter=patient pr true", "inner outer"),
        ("Observation?_filter=patient pr false", ""),
    ]);
    let order = |query: &str| world.found(query).join(" ");
    assert_eq!(order("Observation?_sort=patient"), "inner outer");
    assert_eq!(order("Observation?_sort=-patient"), "outer inner");
    let elsewhere = small(&[
        json!({"resourceType": "Observation", "id": "a", "status": "final", "code": {"text": "x"},
            "contained": [{"resourceType": "Device", "id": "d"}], "subject": {"reference": "#d"}}),
        json!({"resourceType": "Observation", "id": "b", "status": "final", "code": {"text": "x"}, "subject": {"reference": "#d"}}),
        json!({"resourceType": "Observation", "id": "c", "status": "final", "code": {"text": "x"},
            "contained": [{"resourceType": "Patient", "id": "p"}], "subject": {"reference": "#p"}}),
    ]);
    elsewhere.check(&[
        ("Observation?patient:missing=true", "a b"),
        ("Observation?patient:missing=false", "c"),
    ]);
    assert_eq!(elsewhere.found("Observation?_sort=patient").join(" "), "c a b");
}
