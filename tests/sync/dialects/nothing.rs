//! The ways in which sources say that a search finds nothing.

use serde_json::json;
use tabularium::consent::{JobState, MissingReason};
use tabularium::lake::Mode;

use super::super::rogue::{ALL, bundle, condition, connect, settings, synced};
use super::super::world::World;
use super::{missing, named};
use crate::harness::rogue::{Rogue, Said};

#[test]
fn empty_is_empty_at_once() {
    for form in ["204", "400", "404", "404 without a body", "outcome", "error"] {
        let rogue = Rogue::start(move |asked, _| {
            let outcome = |severity: &str| {
                json!({"resourceType": "OperationOutcome", "issue": [{"severity": severity, "code": "not-found"}]})
                    .to_string()
            };
            let listed = |name: &str| {
                json!({"type": name, "interaction": [{"code": "read"}, {"code": "search-type"}],
                "searchParam": [{"name": "patient", "type": "reference"}]})
            };
            let resources = ["Patient", "Condition", "Observation"].map(listed);
            match asked.path.split('?').next().unwrap() {
                "/fhir/metadata" => Said::json(
                    &json!({"resourceType": "CapabilityStatement", "status": "active", "fhirVersion": "4.0.1",
                    "rest": [{"mode": "server", "resource": resources}]}),
                ),
                "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
                "/fhir/Condition" => Said::json(&bundle(&[condition("a")], None)),
                "/fhir/Observation" => match form {
                    "204" => Said::status(204),
                    "400" => Said::text("application/fhir+json", &outcome("error")).coded(400),
                    "404" => Said::text("application/fhir+json", &outcome("error")).coded(404),
                    "404 without a body" => Said::status(404),
                    "outcome" => Said::text("application/fhir+json", &outcome("information")),
                    _ => Said::text("application/fhir+json", &outcome("error")),
                },
                _ => Said::status(404),
            }
        });
        let world = World::new(1, Mode::Live);
        let connected = connect(
            &world,
            &rogue,
            "patient/Patient.rs patient/Condition.rs patient/Observation.rs",
        );
        world.work_at(settings());
        assert_eq!(world.end_of(&connected), JobState::Completed, "{form}");
        assert_eq!(missing(&world, &connected), [], "{form}");
        assert_eq!(rogue.count("/fhir/Observation"), 1, "{form}");
    }
}

#[test]
fn any_other_404_is_a_type_that_is_not_served() {
    let rogue = Rogue::start(|asked, _| match asked.path.split('?').next().unwrap() {
        "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
        "/fhir/Condition" => Said::json(&bundle(&[condition("a")], None)),
        "/fhir/Observation" => Said::text("text/html", "<h1>Not found</h1>").coded(404),
        _ => Said::json(&bundle(&[], None)),
    });
    let (world, connected) = synced(&rogue, ALL);
    let gaps = missing(&world, &connected);
    assert_eq!(named(&gaps), [("Observation", None, MissingReason::NotServed)]);
}
