//! Ann's and Ben's records, and what each of them may see.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The owner of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Of(&'static str),
    Everybody,
    /// Several people, or one that cannot be determined.
    Nobody,
}

/// Ann's and Ben's records, records that they share, and records that neither may see. Each is marked with `label` and
/// its owner. Texts of codes name both too, because a PDF file does not show marks.
pub(super) fn records(label: &str) -> Vec<(Whose, Value)> {
    let mut all = surroundings();
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        all.extend(own(id, other).into_iter().map(|resource| (Whose::Of(id), resource)));
    }
    for (whose, resource) in &mut all {
        let code = match whose {
            Whose::Of(id) => format!("{label}-{id}"),
            Whose::Everybody => format!("{label}-all"),
            Whose::Nobody => format!("{label}-nobody"),
        };
        resource["meta"] = json!({"tag":[{"system":"urn:whose","code":code}]});
        if let Some(text) = resource["code"]["text"].as_str() {
            resource["code"]["text"] = format!("{text}, {label}").into();
        }
    }
    all
}

fn surroundings() -> Vec<(Whose, Value)> {
    let shared = [
        json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Shared"}]}),
        json!({"resourceType":"Practitioner","id":"stranger","name":[{"family":"Unrelated"}]}),
        json!({"resourceType":"PractitionerRole","id":"role","practitioner":{"reference":"Practitioner/doc"},
               "organization":{"reference":"Organization/clinic"}}),
        json!({"resourceType":"Organization","id":"clinic","name":"Clinic","partOf":{"reference":"Organization/trust"}}),
        json!({"resourceType":"Organization","id":"trust","name":"Trust"}),
        json!({"resourceType":"Organization","id":"elsewhere","name":"Elsewhere"}),
        json!({"resourceType":"Organization","id":"payer-ann","name":"Payer"}),
        json!({"resourceType":"Organization","id":"payer-ben","name":"Payer"}),
        json!({"resourceType":"Location","id":"ward","name":"Ward","managingOrganization":{"reference":"Organization/clinic"}}),
        json!({"resourceType":"Device","id":"pump","owner":{"reference":"Organization/clinic"},
               "identifier":[{"system":"urn:d","value":"1"}]}),
        json!({"resourceType":"Device","id":"unused"}),
        // A record about another record names no person, so it belongs to nobody, and no person's record refers to it.
        json!({"resourceType":"Provenance","id":"of-anns-record","target":[{"reference":"Observation/obs-ann-0"}],
               "recorded":"2024-01-01T00:00:00Z","agent":[{"who":{"reference":"Practitioner/doc"}}]}),
        json!({"resourceType":"List","id":"worklist","status":"current","mode":"working","entry":[
               {"item":{"reference":"Observation/obs-ann-0"}},{"item":{"reference":"Observation/obs-ben-0"}}]}),
        // A canonical does not show its target to a patient.
        json!({"resourceType":"PlanDefinition","id":"plan","status":"active","url":"urn:plan"}),
        json!({"resourceType":"Medication","id":"pill","code":{"text":"Pill"},"manufacturer":{"reference":"Organization/elsewhere"}}),
    ];
    let of_both = [
        json!({"resourceType":"Group","id":"household","type":"person","actual":true,
               "member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/ben"}}]}),
        json!({"resourceType":"Appointment","id":"both","status":"booked","participant":[
               {"actor":{"reference":"Patient/ann"},"status":"accepted"},
               {"actor":{"reference":"Patient/ben"},"status":"accepted"}]}),
        json!({"resourceType":"Provenance","id":"of-both","target":[{"reference":"Patient/ann"},{"reference":"Patient/ben"}],
               "recorded":"2024-01-01T00:00:00Z","agent":[{"who":{"reference":"Practitioner/doc"}}]}),
        json!({"resourceType":"AuditEvent","id":"ann-of-ben","type":{"code":"rest"},"recorded":"2024-01-01T00:00:00Z",
               "agent":[{"who":{"reference":"Patient/ann"},"requestor":true}],"source":{"observer":{"reference":"Device/pump"}},
               "entity":[{"what":{"reference":"Patient/ben"}}]}),
    ];
    let shared = shared.into_iter().map(|resource| (Whose::Everybody, resource));
    shared
        .chain(of_both.into_iter().map(|resource| (Whose::Nobody, resource)))
        .collect()
}

/// A person's own records. Several of them refer to the other person.
fn own(id: &str, other: &str) -> Vec<Value> {
    let me = json!({"reference":format!("Patient/{id}")});
    let them = json!({"reference":format!("Patient/{other}")});
    let mut all = vec![
        json!({"resourceType":"Patient","id":id,"gender":"other","name":[{"family":id}],"birthDate":"1980-02-03",
               "identifier":[{"system":"urn:people","value":id}],
               "generalPractitioner":[{"reference":"PractitionerRole/role"}],"link":[{"other":them,"type":"seealso"}]}),
        json!({"resourceType":"Encounter","id":format!("visit-{id}"),"status":"finished","class":{"code":"AMB"},"subject":me,
               "location":[{"location":{"reference":"Location/ward"}}]}),
        json!({"resourceType":"MedicationRequest","id":format!("order-{id}"),"status":"active","intent":"order","subject":me,
               "requester":{"reference":"Practitioner/doc"},"medicationReference":{"reference":"Medication/pill"}}),
        json!({"resourceType":"Coverage","id":format!("cover-{id}"),"status":"active","beneficiary":me,"subscriber":them,
               "policyHolder":them,"payor":[{"reference":format!("Organization/payer-{id}")}]}),
        json!({"resourceType":"ExplanationOfBenefit","id":format!("claim-{id}"),"status":"active","use":"claim",
               "type":{"text":"t"},"created":"2024-01-01","patient":me,"provider":{"reference":"Organization/clinic"},
               "insurer":{"reference":format!("Organization/payer-{id}")},"outcome":"complete",
               "insurance":[{"focal":true,"coverage":{"reference":format!("Coverage/cover-{other}")}}]}),
        json!({"resourceType":"List","id":format!("list-{id}"),"status":"current","mode":"working","subject":me,"entry":[
               {"item":{"reference":format!("Observation/obs-{other}-0")}},{"item":{"reference":format!("Observation/obs-{id}-1")}}]}),
        json!({"resourceType":"Provenance","id":format!("prov-{id}"),"recorded":"2024-01-01T00:00:00Z",
               "target":[me,{"reference":format!("Observation/obs-{other}-0")}],"agent":[{"who":{"reference":"Practitioner/doc"}}]}),
        json!({"resourceType":"AuditEvent","id":format!("audit-{id}"),"type":{"code":"rest"},"recorded":"2024-01-01T00:00:00Z",
               "agent":[{"who":{"reference":"Practitioner/doc"},"requestor":true}],"source":{"observer":{"reference":"Device/pump"}},
               "entity":[{"what":me},{"what":{"reference":format!("Observation/obs-{other}-1")}}]}),
        json!({"resourceType":"DiagnosticReport","id":format!("report-{id}"),"status":"final","subject":me,"code":{"text":"r"},
               "result":[{"reference":"#inside"},{"reference":format!("Observation/obs-{other}-2")}],
               "contained":[{"resourceType":"Observation","id":"inside","status":"final","subject":them,"code":{"text":"inside"}}]}),
        // Both people's records have the same URL.
        json!({"resourceType":"Contract","id":format!("contract-{id}"),"url":"urn:contract","version":"1","subject":[me]}),
        json!({"resourceType":"RequestGroup","id":format!("group-{id}"),"status":"active","intent":"plan","subject":me,
               "instantiatesCanonical":["urn:contract","urn:plan",format!("Contract/contract-{other}")]}),
        json!({"resourceType":"Condition","id":format!("ill-{id}"),"subject":me,"asserter":them,"code":{"text":format!("of {id}")}}),
        json!({"resourceType":"AllergyIntolerance","id":format!("allergy-{id}"),"patient":me,"recorder":them,
               "code":{"text":format!("of {id}")}}),
        json!({"resourceType":"DocumentReference","id":format!("letter-{id}"),"status":"current","subject":me,"author":[them],
               "content":[{"attachment":{"contentType":"text/plain","url":format!("Binary/scan-{other}")}},
                          {"attachment":{"contentType":"text/plain","url":format!("Binary/scan-{id}")}}]}),
        json!({"resourceType":"Binary","id":format!("scan-{id}"),"contentType":"text/plain","securityContext":me,
               "data":STANDARD.encode(format!("a scan of {id}"))}),
    ];
    for at in 0..3 {
        all.push(
            json!({"resourceType":"Observation","id":format!("obs-{id}-{at}"),"status":"final","subject":me,
            "code":{"coding":[{"system":"urn:c","code":format!("c{at}")}],"text":format!("of {id}")},
            "valueQuantity":{"value":at},"effectiveDateTime":format!("2024-01-0{}", at + 1),
            "performer":[{"reference":"Practitioner/doc"},them],"device":{"reference":"Device/pump"},
            "encounter":{"reference":format!("Encounter/visit-{other}")},
            "hasMember":[{"reference":format!("Observation/obs-{other}-{at}")},{"reference":format!("Observation/obs-{id}-0")}]}),
        );
    }
    all
}

pub(super) fn name(resource: &Value) -> String {
    let part = |name: &str| resource[name].as_str().unwrap_or_default().to_owned();
    format!("{}/{}", part("resourceType"), part("id"))
}

/// The records that a person may see: their own, the shared ones that those refer to, and the references of these.
pub(super) fn visible(records: &[(Whose, Value)], id: &str) -> Vec<Value> {
    let mut seen: Vec<&Value> = records
        .iter()
        .filter(|(whose, _)| matches!(whose, Whose::Of(of) if *of == id))
        .map(|(_, resource)| resource)
        .collect();
    let mut next = 0;
    while next < seen.len() {
        let text = seen[next].to_string();
        for (whose, resource) in records {
            let refers = text.contains(&format!("\"reference\":\"{}\"", name(resource)));
            if refers && *whose == Whose::Everybody && !seen.contains(&resource) {
                seen.push(resource);
            }
        }
        next += 1;
    }
    seen.into_iter().cloned().collect()
}

/// `Type/id` and the owner as marked in the record.
pub(super) type Shown = BTreeSet<(String, String)>;

pub(super) fn mark(resource: &Value) -> (String, String) {
    let tags = resource["meta"]["tag"].as_array().cloned().unwrap_or_default();
    let whose = tags.iter().find(|tag| tag["system"] == "urn:whose");
    (
        name(resource),
        whose.map_or(String::new(), |tag| tag["code"].to_string()),
    )
}
