//! CapabilityStatements that omit types.

use serde_json::json;
use tabularium::consent::MissingReason;
use tabularium::lake::Mode;

use super::super::rogue::{ALL, bundle, condition, found, synced};
use super::super::world::World;
use super::{assert_whole, missing, named};
use crate::harness::rogue::{Rogue, Said};

#[test]
fn types_that_a_statement_leaves_out_are_asked_for_all_the_same() {
    // Their records were missing without a report.
    let world = World::new(1, Mode::Live);
    world.payer.turn(
        "lakeshore",
        &json!({"unlisted": ["Coverage", "Procedure", "Organization"]}),
    );
    world.work();
    let connected = world.synced("lakeshore", 0);
    assert_whole(&world, "lakeshore", &connected);
    assert!(world.total("Coverage", &connected.token) > 0);
    assert!(world.total("Organization", &connected.token) > 0);
}

#[test]
fn a_type_that_only_the_directory_lists_is_missing_where_it_is_refused() {
    let world = World::new(1, Mode::Live);
    let knobs = json!({"unlisted": ["Coverage"], "unserved": ["Coverage"]});
    world.payer.turn("lakeshore", &knobs);
    world.work();
    let connected = world.synced("lakeshore", 0);
    let gaps = missing(&world, &connected);
    let told = gaps.iter().find(|gap| gap.detail.contains("does not list"));
    let told = told.unwrap_or_else(|| panic!("{gaps:?}"));
    assert_eq!(
        (told.resource_type.as_str(), told.reason, told.status),
        ("Coverage", MissingReason::NotServed, Some(404))
    );
    assert!(gaps.iter().all(|gap| gap.resource_type == "Coverage"), "{gaps:?}");
}

#[test]
fn a_source_that_answers_401_to_types_that_it_does_not_list_gives_the_others() {
    let rogue = Rogue::start(|asked, _| {
        let path = asked.path.split('?').next().unwrap();
        let served = |resource_type: &str| json!({"type": resource_type, "interaction": [{"code": "read"}, {"code": "search-type"}]});
        match path {
            "/fhir/metadata" => Said::json(&json!({"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1",
                "rest": [{"mode": "server", "resource": [served("Patient"), served("Condition")]}]})),
            "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
            "/fhir/Condition" => {
                let mut one = condition("a");
                one["asserter"] = json!({"reference": "Practitioner/doctor"});
                Said::json(&bundle(&[one], None))
            }
            _ => Said::status(401),
        }
    });
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(found(&world, "Condition", &connected).len(), 1);
    let gaps = missing(&world, &connected);
    let expected =
        ["Account", "Observation", "Practitioner"].map(|resource_type| (resource_type, None, MissingReason::Forbidden));
    assert_eq!(named(&gaps), expected, "{gaps:?}");
    assert!(gaps.iter().all(|gap| gap.status == Some(401)), "{gaps:?}");
}
