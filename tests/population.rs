//! The synthetic population's guarantees: the same bytes for the same seed, valid R4, complete references, and the
//! documented size and shape.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tabularium::sandbox::{Population, Records, write_ndjson};

use crate::harness::conformance;

fn lines(records: &Records) -> Vec<&str> {
    records.iter().map(|record| record.json).collect()
}

fn every(population: &Population) -> Vec<Value> {
    let portions: Vec<Records> = population.directory().chain(population.people()).collect();
    portions
        .iter()
        .flat_map(|records| records.iter())
        .map(|one| serde_json::from_str(one.json).unwrap())
        .collect()
}

/// Collects the references anywhere in a value.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("reference").and_then(Value::as_str));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn a_seed_gives_the_same_bytes_everywhere() {
    let population = Population::new(42, 3);
    let mut digest = Sha256::new();
    for records in population.directory().chain(population.people()) {
        lines(&records).iter().for_each(|line| digest.update(line));
    }
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    expect_test::expect!["8248de5818c1aadce4b9470425d3c64905102dde4d6cf44ac403cd7b897dee56"].assert_eq(&digest);
}

#[test]
fn a_person_is_the_same_whatever_the_size_and_another_for_another_seed() {
    let (small, large) = (Population::new(1, 5), Population::new(1, 1000));
    for index in 0..5 {
        assert_eq!(lines(&small.person(index)), lines(&large.person(index)));
    }
    assert_ne!(lines(&small.person(0)), lines(&Population::new(2, 5).person(0)));
}

#[test]
fn every_resource_is_r4() {
    let mut complaints = BTreeSet::new();
    for resource in every(&Population::new(7, 30)) {
        complaints.extend(conformance::complaints(&resource));
    }
    assert_eq!(complaints, BTreeSet::new());
}

#[test]
fn the_check_finds_what_is_wrong() {
    let wrong = serde_json::json!({
        "resourceType": "Observation", "status": "final", "valueString": "a", "valueInteger": 1, "tone": 1,
        "subject": {"reference": "Encounter/1"}, "effectiveDateTime": "2020-13", "category": {}, "note": [],
        "contained": [{"resourceType": "Wish"}], "component": [{}]
    });
    let found = conformance::complaints(&wrong);
    for part in [
        "tone: not",
        "code: required",
        "value[x]: more",
        "refer to Encounter",
        "2020-13",
        "category: a list",
        "note: empty",
        "Wish",
        "component: empty",
    ] {
        assert!(
            found.iter().any(|complaint| complaint.contains(part)),
            "{part} in {found:#?}"
        );
    }
}

#[test]
fn every_reference_leads_somewhere_and_no_id_recurs() {
    // More than one district, so that some referrals go to an earlier one.
    let population = Population::new(3, 215);
    let portions: Vec<Records> = population
        .directory()
        .chain((190..215).chain(0..15).map(|index| population.person(index)))
        .collect();
    let resources: Vec<Value> = portions
        .iter()
        .flat_map(|records| records.iter())
        .map(|one| serde_json::from_str(one.json).unwrap())
        .collect();
    let mut keys = BTreeSet::new();
    for resource in &resources {
        let key = format!(
            "{}/{}",
            resource["resourceType"].as_str().unwrap(),
            resource["id"].as_str().unwrap()
        );
        assert!(keys.insert(key.clone()), "{key} twice");
    }
    for resource in &resources {
        let mut found = Vec::new();
        references(resource, &mut found);
        for reference in found {
            let contained = |id: &str| {
                resource["contained"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|one| one["id"] == id))
            };
            let known = match reference.strip_prefix('#') {
                Some(id) => contained(id),
                None => keys.contains(reference),
            };
            assert!(known, "{reference} in {resource}");
        }
    }
}

#[test]
fn family_members_are_insured_through_the_head() {
    let population = Population::new(1, 10);
    let coverage = |index| -> Vec<Value> {
        let records = population.person(index);
        let all = records.iter().filter(|record| record.resource_type == "Coverage");
        all.map(|record| serde_json::from_str(record.json).unwrap()).collect()
    };
    for one in coverage(6) {
        assert_eq!(
            one["beneficiary"]["reference"],
            format!("Patient/{}", population.patient_id(6))
        );
        assert_eq!(
            one["subscriber"]["reference"],
            format!("Patient/{}", population.patient_id(4))
        );
    }
}

#[test]
fn people_have_about_five_hundred_resources_and_some_two_hundred_of_one_code() {
    let population = Population::new(1, 200);
    let (mut total, mut types, mut often) = (0, BTreeMap::<&str, usize>::new(), 0);
    for records in population.people() {
        total += records.len();
        let pulse = records
            .iter()
            .filter(|record| record.json.contains(r#""code":"8867-4""#))
            .count();
        often += usize::from((100..=400).contains(&pulse));
        for record in records.iter() {
            *types.entry(record.resource_type).or_default() += 1;
        }
    }
    assert!((450..=550).contains(&(total / 200)), "{}", total / 200);
    assert!((40..=65).contains(&(types["Observation"] * 100 / total)), "{types:?}");
    assert!(often >= 20, "{often}");
    for resource_type in [
        "Patient",
        "Coverage",
        "ExplanationOfBenefit",
        "Encounter",
        "Condition",
        "MedicationRequest",
        "Goal",
        "MedicationDispense",
        "Immunization",
        "AllergyIntolerance",
        "Procedure",
        "DiagnosticReport",
        "Device",
        "DocumentReference",
        "CarePlan",
        "CareTeam",
        "Provenance",
    ] {
        assert!(types.contains_key(resource_type), "{resource_type}");
    }
}

#[test]
fn a_folder_holds_one_file_per_type_and_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let population = Population::new(5, 2);
    let mut people = 0;
    let written = write_ndjson(&population, folder.path(), || people += 1).unwrap();
    assert_eq!(people, 2);
    for (resource_type, count) in &written {
        let text = std::fs::read_to_string(folder.path().join(format!("{resource_type}.ndjson"))).unwrap();
        assert_eq!(text.lines().count() as u64, *count);
        assert!(
            text.lines()
                .all(|line| line.starts_with(&format!("{{\"resourceType\":\"{resource_type}\"")))
        );
    }
    assert_eq!(written.values().sum::<u64>() as usize, every(&population).len());
    let refused = write_ndjson(&population, folder.path(), || {}).unwrap_err();
    assert!(refused.to_string().ends_with("is not empty"), "{refused}");
}

fn generate(arguments: &[&str], folder: &std::path::Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabularium"));
    command
        .arg("generate")
        .args(arguments)
        .arg("--out")
        .arg(folder)
        .output()
        .unwrap()
}

#[test]
fn the_command_says_what_it_wrote_and_refuses_bad_input_with_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/by/the/command");
    let done = generate(&["--patients", "2", "--seed", "9"], &out);
    let said = String::from_utf8(done.stdout).unwrap();
    assert_eq!(done.status.code(), Some(0));
    assert!(
        said.lines().any(|line| line.split_whitespace().eq(["Patient", "2"])),
        "{said}"
    );
    assert_eq!(done.stderr, b"", "no progress bar where standard error is no terminal");

    let again = generate(&["--patients", "2"], &out);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8(again.stderr).unwrap().contains("not empty"));
    for wrong in [
        &["--patients", "0"][..],
        &["--patients", "many"],
        &["--patients", "1", "--seed", "-1"],
    ] {
        assert_eq!(
            generate(wrong, &folder.path().join("none")).status.code(),
            Some(2),
            "{wrong:?}"
        );
    }
    assert!(!folder.path().join("none").exists());
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(generate(&["--patients", "1"], &file).status.code(), Some(2));
}
