//! Pages of a search that failed later are kept.

use serde_json::json;
use tabularium::consent::MissingReason;

use super::super::rogue::{ALL, bundle, condition, found, synced};
use super::{missing, named};
use crate::harness::rogue::{Rogue, Said};

#[test]
fn the_pages_before_one_that_fails_are_stored_and_their_references_are_followed() {
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
    let (world, connected) = synced(&rogue, ALL);
    assert_eq!(rogue.count("/fhir/Practitioner/ghost"), 1);
    // The Practitioner of the page is not read once more.
    assert_eq!(rogue.count("/fhir/Practitioner/doctor"), 0);
    assert_eq!(found(&world, "Practitioner", &connected).len(), 1);
    assert_eq!(found(&world, "Condition", &connected).len(), 1);
    let gaps = missing(&world, &connected);
    assert_eq!(
        named(&gaps),
        [
            ("Condition", None, MissingReason::Failed),
            ("Practitioner", None, MissingReason::NotFound)
        ]
    );
    assert_eq!(
        gaps[0].detail,
        "incomplete: a further page was answered with status 404"
    );
}
