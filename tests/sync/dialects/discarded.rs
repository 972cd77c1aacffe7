//! Pages of a search that failed later have no effect.

use serde_json::json;
use tabularium::consent::{JobState, MissingReason};
use tabularium::lake::Mode;

use super::super::rogue::{ALL, bundle, condition, connect, found, settings};
use super::super::world::World;
use super::{missing, named};
use crate::harness::rogue::{Rogue, Said};

#[test]
fn what_stood_in_a_discarded_page_is_neither_asked_for_nor_taken_for_fetched() {
    // The page's references were followed although its records were dropped. Its Practitioner was dropped too, and was
    // not read for the remaining records.
    let rogue = Rogue::start(|asked, base| {
        let path = asked.path.split('?').next().unwrap();
        let doctor = json!({"resourceType": "Practitioner", "id": "doctor", "name": [{"family": "Own"}]});
        match path {
            "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
            "/fhir/Practitioner/doctor" => Said::json(&doctor),
            "/fhir/Condition" if asked.path.contains("page=2") => Said::status(404),
            "/fhir/Condition" => {
                let mut first = condition("a");
                first["asserter"] = json!({"reference": "Practitioner/ghost"});
                let next = format!("{base}/fhir/Condition?patient=p&page=2");
                Said::json(&bundle(&[first, doctor], Some(&next)))
            }
            "/fhir/Observation" => {
                let observation = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"},
                    "subject": {"reference": "Patient/p"}, "performer": [{"reference": "Practitioner/doctor"}]});
                Said::json(&bundle(&[observation], None))
            }
            "/fhir/Account" => Said::json(&bundle(&[], None)),
            _ => Said::status(404),
        }
    });
    let world = World::new(1, Mode::Live);
    let connected = connect(&world, &rogue, ALL);
    world.work_at(settings());
    assert_eq!(
        world.end_of(&connected),
        JobState::Completed,
        "{:?}",
        world.audit(&connected)
    );
    assert_eq!(rogue.count("/fhir/Practitioner/ghost"), 0);
    assert_eq!(found(&world, "Practitioner", &connected).len(), 1);
    let gaps = missing(&world, &connected);
    assert_eq!(named(&gaps), [("Condition", None, MissingReason::Failed)]);
}
