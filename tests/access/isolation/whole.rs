//! Operations on a whole record: `$everything`, summaries, PDF, health links and erasures.

use std::collections::BTreeSet;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::family::{entries, family, ids, visible};
use crate::harness::server::Server;
use crate::health_links::Link;
use crate::patient::cards;
use crate::pdf::reading::text;

#[test]
fn a_whole_record_has_nothing_of_another() {
    let server = Server::imported(&family());
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        let token = server.patient_token(id);
        let may_see: BTreeSet<String> = visible(id).into_iter().flat_map(|(_, ids)| ids).collect();
        for path in ["$PATIENT_ID".to_owned(), id.to_owned()] {
            let found = ids(&entries(
                &server.get(&format!("/fhir/Patient/{path}/$everything"), &token),
            ));
            let claim = format!("claim-{id}");
            assert!(
                found.contains(&claim) && found.contains(&"clinic".to_owned()),
                "{found:?}"
            );
            assert!(found.iter().all(|one| may_see.contains(one)), "{id}: {found:?}");
        }
        let card = json!({"resourceType": "Parameters",
            "parameter": [{"name": "credentialType", "valueUri": "Patient/$everything"}]});
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/fhir+json"),
        ];
        let path = format!("/fhir/Patient/{other}/$health-cards-issue");
        for answer in [
            server.get(&format!("/fhir/Patient/{other}/$everything"), &token),
            server.send("POST", &path, &headers, &card.to_string()),
        ] {
            assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"));
            assert!(!answer.text.contains("Unrelated"));
        }
    }
}

/// The family with records whose texts name their person. Some of them refer to the other person.
fn chronicle() -> Vec<Value> {
    let mut all = family();
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        let (me, them) = (
            json!({"reference":format!("Patient/{id}")}),
            json!({"reference":format!("Patient/{other}")}),
        );
        let patient = all
            .iter_mut()
            .find(|resource| resource["resourceType"] == "Patient" && resource["id"] == id);
        let patient = patient.unwrap();
        patient["identifier"] = json!([{"system":"urn:people","value":format!("number-of-{id}")}]);
        patient["name"][0]["given"] = json!([format!("first-{id}")]);
        let attached =
            [id, other].map(|of| json!({"attachment":{"contentType":"text/plain","url":format!("Binary/scan-{of}")}}));
        all.extend([
            json!({"resourceType":"Condition","id":format!("ill-{id}"),"subject":me,"asserter":them,
                   "code":{"text":format!("illness of {id}")},
                   "clinicalStatus":{"coding":[{"system":"http://terminology.hl7.org/CodeSystem/condition-clinical","code":"active"}]}}),
            json!({"resourceType":"AllergyIntolerance","id":format!("allergy-{id}"),"patient":me,"recorder":them,
                   "code":{"text":format!("allergy of {id}")}}),
            json!({"resourceType":"DocumentReference","id":format!("letter-{id}"),"status":"current","subject":me,
                   "author":[them],"description":format!("letter of {id}"),"content":attached}),
            json!({"resourceType":"Binary","id":format!("scan-{id}"),"contentType":"text/plain","securityContext":me,
                   "data":STANDARD.encode(format!("scan of {id}"))}),
        ]);
    }
    all
}

/// Whether a text, with or without white space, tells of a person. Other people's records may name the id.
fn tells_of(text: &str, id: &str) -> bool {
    let told = ["illness of", "allergy of", "letter of", "scan of"].map(|what| format!("{what} {id}"));
    let told = [format!("first-{id}"), format!("number-of-{id}")]
        .into_iter()
        .chain(told);
    told.into_iter()
        .any(|told| text.contains(&told) || text.contains(&told.replace(' ', "")))
}

/// Checks that a text is about one person, and says nothing of the other one and of rows that no patient may see.
fn is_only_of(door: &str, text: &str, id: &str, other: &str) {
    assert!(tells_of(text, id), "{door}: nothing of {id} in {text}");
    assert!(
        !tells_of(text, other) && !text.contains("Unrelated") && !text.contains("Elsewhere"),
        "{door}: {text}"
    );
}

/// The texts of a PDF file, or of all files in an archive.
fn pages(server: &Server, path: &str, token: &str) -> String {
    let (status, headers, bytes) =
        server.send_bytes("GET", path, &[("authorization", &format!("Bearer {token}"))], &[]);
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&bytes));
    if headers["content-type"] == "application/pdf" {
        return text(&bytes);
    }
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let texts = (0..archive.len()).map(|at| {
        let mut file = Vec::new();
        archive.by_index(at).unwrap().read_to_end(&mut file).unwrap();
        text(&file)
    });
    texts.collect()
}

/// The PDF file inside of a summary.
fn embedded(summary: &Value) -> Vec<u8> {
    let entries = summary["entry"].as_array().unwrap().iter();
    let mut found = entries.filter_map(|entry| {
        let content = entry["resource"]["content"].as_array()?.iter();
        let data = content.filter_map(|content| content["attachment"]["data"].as_str());
        data.filter_map(|data| STANDARD.decode(data).ok())
            .find(|bytes| bytes.starts_with(b"%PDF"))
    });
    found.next().unwrap()
}

#[test]
fn a_summary_and_pages_have_nothing_of_another() {
    let server = Server::imported(&chronicle());
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        let token = server.patient_token(id);
        for path in [
            "Patient/$PATIENT_ID/$summary".to_owned(),
            format!("Patient/{id}/$summary"),
            format!("Patient/$summary?identifier=urn:people|number-of-{id}"),
        ] {
            let answer = server.get(&format!("/fhir/{path}"), &token);
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            is_only_of(&path, &answer.text, id, other);
            is_only_of(&path, &text(&embedded(&answer.json())), id, other);
        }
        for path in [
            "Patient/$PATIENT_ID/$pdf".to_owned(),
            format!("Patient/{id}/$pdf"),
            format!("Patient/{id}/$pdf?_format=zip"),
        ] {
            let found = pages(&server, &format!("/fhir/{path}"), &token);
            is_only_of(&path, &found, id, other);
            assert!(found.contains(&format!("scanof{id}")), "{path}");
        }
        for path in [
            format!("Patient/{other}/$summary"),
            format!("Patient/{other}/$summary?_section=problems"),
            format!("Patient/$summary?identifier=urn:people|number-of-{other}"),
            format!("Patient/{other}/$pdf"),
            format!("Patient/{other}/$pdf?_format=zip"),
            "Patient/nobody/$summary".to_owned(),
            "Patient/nobody/$pdf".to_owned(),
        ] {
            let answer = server.get(&format!("/fhir/{path}"), &token);
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (404, "not-found"),
                "{id}: {path}"
            );
            assert!(
                !tells_of(&answer.text.replace(&format!("number-of-{other}"), ""), other),
                "{path}"
            );
        }
        let form = [
            ("authorization", &*format!("Bearer {token}")),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        for (path, body) in [
            (format!("/fhir/Patient/{other}/$summary"), String::new()),
            (
                "/fhir/Patient/$summary".to_owned(),
                format!("identifier=urn:people|number-of-{other}"),
            ),
        ] {
            let answer = server.send("POST", &path, &form, &body);
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (404, "not-found"),
                "{id}: {path}"
            );
        }
    }
}

#[test]
fn links_lead_to_nothing_of_another() {
    let server = Server::imported(&chronicle());
    let base = format!("http://{}", server.address);
    for (id, other) in [("ann", "ben"), ("ben", "ann")] {
        let (token, foreign) = (server.patient_token(id), server.patient_token(other));
        let bearers = [&token, &foreign].map(|token| format!("Bearer {token}"));
        let [own, foreign_bearer] = bearers.each_ref().map(|bearer| [("authorization", bearer.as_str())]);
        for content in ["summary", "health-card"] {
            let made = server.post(
                "/rest/health-links",
                &own,
                &json!({"content":content,"label":format!("letter of {id}")}),
            );
            assert_eq!(made.status, 201, "{content}: {}", made.text);
            let made = made.json();
            let link = Link::at(&base, &made);
            let manifest = link.manifest(&server, &json!({})).json();
            let file = &manifest["files"][0];
            let media = file["contentType"].as_str().unwrap();
            let shared = link.file(file["embedded"].as_str().unwrap(), media);
            match shared["verifiableCredential"][0].as_str() {
                Some(card) => is_only_of(content, &cards::read(&server, card).to_string(), id, other),
                None => {
                    is_only_of(content, &shared.to_string(), id, other);
                    is_only_of(content, &text(&embedded(&shared)), id, other);
                }
            }
            let listed = server.get("/rest/health-links", &foreign);
            assert!(listed.status == 200 && !tells_of(&listed.text, id), "{}", listed.text);
            let path = format!("/rest/health-links/{}", made["id"].as_str().unwrap());
            assert_eq!(server.send("DELETE", &path, &foreign_bearer, "").status, 404);
            assert_eq!(link.manifest(&server, &json!({})).status, 200);
        }
        // No member of a request names a patient.
        for name in ["patient", "subject", "patientId"] {
            let answer = server.post("/rest/health-links", &own, &json!({(name):format!("Patient/{other}")}));
            assert_eq!(answer.status, 400, "{name}: {}", answer.text);
        }
    }
}

/// Ann's erasure takes her rows, the shared Coverage among them, and none of Ben's.
#[test]
fn nobody_erases_anothers_rows() {
    let server = Server::imported(&chronicle());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    let expunge = |id: &str, token: &str| {
        let headers = [("authorization", &*format!("Bearer {token}"))];
        server.send("POST", &format!("/fhir/Patient/{id}/$expunge"), &headers, "")
    };
    let record = |token: &str| ids(&entries(&server.get("/fhir/Patient/$PATIENT_ID/$everything", token)));
    let before = [record(&ann), record(&ben)];
    for (id, token) in [("ben", &ann), ("ann", &ben), ("nobody", &ann)] {
        let answer = expunge(id, token);
        assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"), "{id}");
    }
    for id in ["ann", "$PATIENT_ID"] {
        let answer = expunge(id, &server.application_token());
        assert_eq!((answer.status, answer.issue().as_str()), (422, "processing"), "{id}");
    }
    assert_eq!([record(&ann), record(&ben)], before);
    assert_eq!(expunge("ann", &ann).status, 200);
    assert_eq!(record(&ben), before[1]);
    is_only_of(
        "$pdf",
        &pages(&server, "/fhir/Patient/$PATIENT_ID/$pdf", &ben),
        "ben",
        "ann",
    );
    let application = server.application_token();
    for (name, status) in [
        ("Observation/obs-ann", 404),
        ("Coverage/family", 404),
        ("Binary/scan-ann", 404),
        ("Observation/obs-ben", 200),
        ("ExplanationOfBenefit/claim-ben", 200),
        ("Binary/scan-ben", 200),
        ("Group/household", 200),
        ("Practitioner/doc", 200),
    ] {
        assert_eq!(
            server.get(&format!("/fhir/{name}"), &application).status,
            status,
            "{name}"
        );
    }
}
