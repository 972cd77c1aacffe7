//! Entries of pages other than the requested records.

use serde_json::json;

use super::super::rogue::{ALL, bundle, condition, found, source, synced};
use crate::harness::rogue::Said;

#[test]
fn outcomes_other_types_empty_pages_and_ids_that_come_twice_do_no_harm() {
    let rogue = source(|asked, base| {
        let next = |page: u32| format!("{base}/fhir/Condition?patient=p&page={page}");
        let outcome = json!({"resourceType": "OperationOutcome", "issue": [{"severity": "information", "code": "informational"}]});
        let observation = json!({"resourceType": "Observation", "id": "o", "status": "final", "code": {"text": "x"},
            "subject": {"reference": "Patient/p"}});
        let page = asked.path.rsplit_once("page=").map_or("1", |(_, page)| page);
        Said::json(&match page {
            "2" => bundle(&[], Some(&next(3))),
            "3" => bundle(&[condition("a"), condition("b"), observation], None),
            _ => {
                let mut first = bundle(&[condition("a"), outcome], Some(&next(2)));
                first["entry"][1]["search"] = json!({"mode": "outcome"});
                first
            }
        })
    });
    let (world, connected) = synced(&rogue, ALL);
    let count = |resource_type: &str| found(&world, resource_type, &connected).len();
    assert_eq!((count("Condition"), count("Observation"), count("Patient")), (2, 1, 1));
    assert_eq!(super::missing(&world, &connected), []);
}
