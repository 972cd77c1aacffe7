//! Summaries of all people of the real files.

use serde_json::Value;

use super::harness::Person;
use crate::harness;
use crate::normalize::harness::{json_files, resources};

/// Types of shared resources.
const SHARED: [&str; 6] = [
    "Practitioner",
    "PractitionerRole",
    "Organization",
    "Medication",
    "Location",
    "HealthcareService",
];

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn all_people_of_the_real_files_have_a_whole_summary() {
    let shared = harness::shared();
    let (mut people, mut rows) = (0, 0);
    for file in json_files(&shared.join("data")) {
        let resources = resources(&file);
        let is = |resource: &&Value, resource_type: &str| {
            resource["resourceType"] == resource_type && resource["id"].is_string()
        };
        let patients: Vec<&Value> = resources.iter().filter(|resource| is(resource, "Patient")).collect();
        for patient in patients {
            let mut person = Person::new();
            person.patients = vec![patient["id"].as_str().unwrap().to_owned()];
            person.records.clear();
            for resource in resources.iter().filter(|resource| resource["id"].is_string()) {
                let is_own = !SHARED
                    .iter()
                    .any(|resource_type| resource["resourceType"] == *resource_type);
                person.records.push((resource.to_string(), is_own));
            }
            let summary = person.summary();
            people += 1;
            rows += super::harness::SECTIONS
                .iter()
                .map(|(alias, _)| summary.rows(alias).len())
                .sum::<usize>();
        }
    }
    assert!(people > 40 && rows > 1_000, "{people} people, {rows} rows");
}
