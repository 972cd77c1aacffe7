//! Ids that R4 does not allow.

use serde_json::{Value, json};
use tabularium::lake::Mode;

use super::super::world::{World, system};
use super::missing;

#[test]
fn ids_of_older_payers_are_taken_and_kept_as_identifiers() {
    // No record of such a source was stored.
    let world = World::new(1, Mode::Live);
    let (person, long) = (world.payer.person(0), format!("cov_{}", "7".repeat(80)));
    let patient = json!({"reference": format!("Patient/{}", person.patient)});
    let coverage = json!({"resourceType": "Coverage", "id": long, "status": "active", "beneficiary": patient,
        "payor": [patient]});
    world.payer.put("lakeshore", &person.user, &coverage);
    let claim = json!({"resourceType": "ExplanationOfBenefit", "id": "eob_1", "status": "active", "use": "claim",
        "outcome": "complete", "patient": patient, "created": "2026-01-01", "type": {"text": "x"},
        "insurer": {"display": "x"}, "provider": {"display": "x"},
        "insurance": [{"focal": true, "coverage": {"reference": format!("Coverage/{long}")}}]});
    world.payer.put("lakeshore", &person.user, &claim);
    world.work();
    let connected = world.synced("lakeshore", 0);
    assert_eq!(missing(&world, &connected), []);
    let find = |resource_type: &str, id: &str| -> Value {
        let path = format!("/fhir/{resource_type}?identifier={}|{id}", system("lakeshore"));
        let bundle = world.get(&path, &connected.token).json();
        assert_eq!(
            bundle["entry"].as_array().map(Vec::len),
            Some(1),
            "{resource_type} {bundle}"
        );
        bundle["entry"][0]["resource"].clone()
    };
    let (coverage, claim) = (find("Coverage", &long), find("ExplanationOfBenefit", "eob_1"));
    let ours = format!("Coverage/{}", coverage["id"].as_str().unwrap());
    assert_eq!(claim["insurance"][0]["coverage"]["reference"], ours);
    assert_eq!(claim["patient"]["reference"], format!("Patient/{}", connected.patient));
    assert_eq!(world.get(&format!("/fhir/{ours}"), &connected.token).status, 200);
}
