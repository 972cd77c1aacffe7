//! One base in all its forms: in links, and in references.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::super::rogue::{ALL, bundle, condition, found, source, synced};
use super::{again, missing};
use crate::harness::rogue::{Rogue, Said};

#[test]
fn next_links_are_the_sources_own_in_all_forms_of_its_base() {
    for form in [
        "/FHIR/Condition?",
        "/%66hir/Condition?",
        "https:/fhir/Condition?",
        "HTTP:/fhir/Condition?",
    ] {
        let rogue = source(move |asked, base| {
            if asked.path.contains("page=2") {
                return Said::json(&bundle(&[condition("b")], None));
            }
            let host = base.trim_start_matches("http://");
            let next = match form.split_once(":/") {
                Some((scheme, path)) => format!("{scheme}://{host}/{path}page=2"),
                None => format!("{base}{form}page=2"),
            };
            Said::json(&bundle(&[condition("a")], Some(&next)))
        });
        let (world, connected) = synced(&rogue, ALL);
        assert_eq!(missing(&world, &connected), [], "{form}");
        assert_eq!(found(&world, "Condition", &connected).len(), 2, "{form}");
    }
}

#[test]
fn references_by_another_form_of_the_base_lead_to_the_same_records() {
    for internal in ["https://HOST/fhir", "http://fhir-internal:8080/r4", "http://HOST/Fhir"] {
        let shown = Arc::new(AtomicBool::new(true));
        let is_shown = shown.clone();
        let rogue = Rogue::start(move |asked, base| {
            let own = internal.replace("HOST", base.trim_start_matches("http://"));
            match asked.path.split('?').next().unwrap() {
                "/fhir/Patient/p" => Said::json(&json!({"resourceType": "Patient", "id": "p"})),
                "/fhir/Practitioner/d" => {
                    Said::json(&json!({"resourceType": "Practitioner", "id": "d", "name": [{"family": "Own"}]}))
                }
                "/fhir/Condition" => {
                    let mut one = condition("a");
                    one["subject"]["reference"] = json!(format!("{own}/Patient/p"));
                    one["recorder"] = json!({"reference": format!("{own}/Practitioner/d")});
                    let mut page = bundle(&[one], None);
                    if is_shown.load(Ordering::SeqCst) {
                        page["entry"][0]["fullUrl"] = json!(format!("{own}/Condition/a"));
                    }
                    Said::json(&page)
                }
                _ => Said::json(&bundle(&[], None)),
            }
        });
        let (world, connected) = synced(&rogue, ALL);
        assert_eq!(missing(&world, &connected), [], "{internal}");
        let conditions = found(&world, "Condition", &connected);
        let practitioners = found(&world, "Practitioner", &connected);
        assert_eq!((conditions.len(), practitioners.len()), (1, 1), "{internal}");
        let here = format!("Patient/{}", connected.patient);
        assert_eq!(conditions[0]["subject"]["reference"], here, "{internal}");
        let recorder = format!("Practitioner/{}", practitioners[0]["id"].as_str().unwrap());
        assert_eq!(conditions[0]["recorder"]["reference"], recorder, "{internal}");
        // Later syncs know the base, even if no page shows it.
        shown.store(false, Ordering::SeqCst);
        again(&world, &connected);
        assert_eq!(found(&world, "Condition", &connected), conditions, "{internal}");
    }
}
