//! The two ways to run a query agree, and a patient token sees what its person may see.

use serde_json::Value;

use super::super::corpus::{corpus, ids, name};

const PATIENT: &str = "3e26303e-a72a-4c60-866f-e5b81a9f1989";

/// A query for one person runs over that person's columns. With a second, unknown patient the same query runs as a
/// plan. Both give the same matches in the same order.
#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn over_a_person_and_as_a_plan() {
    let corpus = corpus();
    let scope = corpus.application();
    for rest in [
        "_sort=-date",
        "_sort=date,code",
        "code=29463-7&_sort=value-quantity",
        "category=laboratory&_sort=-value-quantity,-date",
        "date=ge2015&_sort=_id",
        "value-quantity=gt100",
        "status:not=final",
        "",
    ] {
        let person = corpus.all(&scope, &format!("Observation?patient={PATIENT}&{rest}&_count=1000"));
        let plan = corpus.all(
            &scope,
            &format!("Observation?patient={PATIENT},nobody&{rest}&_count=1000"),
        );
        let names = |found: &[Value]| found.iter().map(name).collect::<Vec<_>>();
        assert_eq!(names(&person), names(&plan), "{rest}");
    }
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn a_patient_sees_their_own_rows_whatever_is_asked() {
    let corpus = corpus();
    let token = corpus.patient(PATIENT);
    let reference = format!("Patient/{PATIENT}");
    for resource_type in [
        "Observation",
        "Condition",
        "Encounter",
        "MedicationRequest",
        "Procedure",
        "DiagnosticReport",
    ] {
        let own: Vec<Value> = corpus
            .everything(resource_type)
            .into_iter()
            .filter(|resource| resource["subject"]["reference"] == *reference)
            .collect();
        assert!(!own.is_empty(), "{resource_type}");
        assert_eq!(
            ids(&corpus.all(&token, &format!("{resource_type}?_count=1000"))),
            ids(&own),
            "{resource_type}"
        );
        let other = "32cd9fa4-7a32-4de1-bce2-548e37151540";
        assert!(
            corpus
                .all(&token, &format!("{resource_type}?subject=Patient/{other}"))
                .is_empty(),
            "{resource_type}"
        );
        assert!(
            corpus
                .all(&token, &format!("{resource_type}?patient={other}"))
                .is_empty(),
            "{resource_type}"
        );
    }
    let patients = corpus.all(&token, "Patient");
    assert_eq!(ids(&patients).into_iter().collect::<Vec<_>>(), [reference]);
    let practitioners = corpus.all(&token, "Practitioner?_count=1000");
    let all = corpus.everything("Practitioner");
    assert!(!practitioners.is_empty() && practitioners.len() < all.len());
}
