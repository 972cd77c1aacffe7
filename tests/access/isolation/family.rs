//! Ann and Ben, their rows and what each may see of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::server::Answer;

/// Ann and Ben, the rows that they share, and rows that no patient token may see.
pub(super) fn family() -> Vec<Value> {
    let mut all = vec![
        json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Shared"}]}),
        json!({"resourceType":"Practitioner","id":"stranger","name":[{"family":"Unrelated"}]}),
        json!({"resourceType":"PractitionerRole","id":"role","practitioner":{"reference":"Practitioner/doc"},
               "organization":{"reference":"Organization/clinic"}}),
        json!({"resourceType":"Organization","id":"clinic","name":"Clinic","partOf":{"reference":"Organization/trust"}}),
        json!({"resourceType":"Organization","id":"trust","name":"Trust"}),
        json!({"resourceType":"Organization","id":"payer","name":"Payer"}),
        json!({"resourceType":"Organization","id":"elsewhere","name":"Elsewhere"}),
        json!({"resourceType":"Group","id":"household","type":"person","actual":true,
               "member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/ben"}}]}),
        json!({"resourceType":"Coverage","id":"family","status":"active","beneficiary":{"reference":"Patient/ann"},
               "subscriber":{"reference":"Patient/ben"},"policyHolder":{"reference":"Patient/ben"},
               "payor":[{"reference":"Organization/payer"}]}),
        json!({"resourceType":"Appointment","id":"both","status":"booked","participant":[
               {"actor":{"reference":"Patient/ann"},"status":"accepted"},
               {"actor":{"reference":"Patient/ben"},"status":"accepted"}]}),
    ];
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        all.extend([
            json!({"resourceType":"Patient","id":id,"gender":"other","name":[{"family":id}],
                   "generalPractitioner":[{"reference":"PractitionerRole/role"}],
                   "link":[{"other":{"reference":format!("Patient/{other}")},"type":"seealso"}]}),
            json!({"resourceType":"Observation","id":format!("obs-{id}"),"status":"final","code":{"text":"c"},
                   "subject":{"reference":format!("Patient/{id}")},"performer":[{"reference":"Practitioner/doc"}],
                   "hasMember":[{"reference":format!("Observation/obs-{other}")}]}),
            json!({"resourceType":"ExplanationOfBenefit","id":format!("claim-{id}"),"status":"active","use":"claim",
                   "type":{"text":"t"},"created":"2024-01-01",
                   "patient":{"reference":format!("Patient/{id}")},"provider":{"reference":"Organization/clinic"},
                   "outcome":"complete","insurer":{"reference":"Organization/clinic"},"insurance":[{"focal":true,"coverage":{"reference":"Coverage/family"}}]}),
        ]);
    }
    all
}

/// The ids that each person may see, by type.
pub(super) fn visible(id: &str) -> Vec<(&'static str, Vec<String>)> {
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    vec![
        ("Patient", own(&[id])),
        ("Observation", vec![format!("obs-{id}")]),
        ("ExplanationOfBenefit", vec![format!("claim-{id}")]),
        ("Coverage", own(if id == "ann" { &["family"] } else { &[] })),
        ("Group", own(&[])),
        ("Appointment", own(&[])),
        ("Practitioner", own(&["doc"])),
        ("PractitionerRole", own(&["role"])),
        // Only Ann's rows refer to the payer, because the Coverage is hers.
        (
            "Organization",
            own(if id == "ann" {
                &["clinic", "payer", "trust"]
            } else {
                &["clinic", "trust"]
            }),
        ),
    ]
}

pub(super) fn entries(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let bundle = answer.json();
    bundle["entry"]
        .as_array()
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .map(|mut entry| entry["resource"].take())
        .collect()
}

pub(super) fn ids(resources: &[Value]) -> Vec<String> {
    let ids: BTreeSet<String> = resources
        .iter()
        .map(|resource| resource["id"].as_str().unwrap_or_default().to_owned())
        .collect();
    ids.into_iter().collect()
}
