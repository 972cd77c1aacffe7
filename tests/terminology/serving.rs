//! A running server switches to newly loaded tables and answers meanwhile.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tabularium::terminology::Terminology;

use super::World;
use super::done;
use super::files::{diagnoses, order};
use crate::harness::process::Process;

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_server_notices_a_new_version_without_a_restart() {
    let world = World::new();
    let (data, icd) = (world.data(), "http://hl7.org/fhir/sid/icd-10-cm");
    let condition = json!({"resourceType": "Condition", "id": "c", "subject": {"reference": "Patient/p"},
        "code": {"coding": [{"system": icd, "code": "I10"}]}});
    let lines = format!("{}\n{condition}\n", json!({"resourceType": "Patient", "id": "p"}));
    done(&data, &["import", &world.file("records.ndjson", lines)]);
    world.load(&["--version", "1", &world.file("a", diagnoses())]);
    let server = Process::start(&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()]);
    let token = done(&data, &["token"]);
    let url = format!(
        "{}/fhir/Condition?code:below={icd}%7CI1&_summary=count",
        server.base_url()
    );
    let ask = || {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let answer = agent
            .get(&url)
            .header("authorization", format!("Bearer {}", token.trim()))
            .call()
            .unwrap();
        let status = answer.status().as_u16();
        let bundle: Value = serde_json::from_str(&answer.into_body().read_to_string().unwrap()).unwrap();
        (status, bundle["total"].as_u64())
    };
    // In this version no code is below I1, so nothing is found.
    assert_eq!(ask(), (200, Some(0)));
    let system = json!({"resourceType": "CodeSystem", "url": icd, "version": "2", "content": "complete",
        "concept": [{"code": "I1", "concept": [{"code": "I10"}]}]});
    world.load(&["--replace", &world.file("b", system.to_string())]);
    let since = Instant::now();
    while ask() != (200, Some(1)) {
        assert!(
            since.elapsed() < PATIENCE,
            "the server does not take up the new version"
        );
    }
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn whoever_has_a_system_keeps_it_while_it_is_replaced() {
    let world = World::new();
    world.load(&["--version", "1", &world.file("a", diagnoses())]);
    let (lazy, eager) = (
        Terminology::open(&world.data(), None).unwrap(),
        Terminology::open(&world.data(), None).unwrap(),
    );
    eager.warm().unwrap();
    let icd = "http://hl7.org/fhir/sid/icd-10-cm";
    let held = eager.code_system(icd).unwrap();
    let next = order(1, "I10", true, "Pressure", "Another name");
    world.load(&["--replace", "--version", "2", &world.file("b", next)]);
    // It was not read before, but its file still exists.
    assert!(lazy.display(icd, "I10").is_some());
    for terminology in [&lazy, &eager] {
        let since = Instant::now();
        while terminology.display(icd, "I10").unwrap() != "Another name" {
            assert!(since.elapsed() < PATIENCE, "the new version is not noticed");
        }
        assert_eq!(terminology.display(icd, "E11"), None);
    }
    assert_eq!((held.version(), held.len()), (Some("1"), 5));
    assert_eq!(held.display("I10"), Some("Pressure without a cause"));
    assert_eq!(world.list()["tables"].as_array().unwrap().len(), 1);
}
