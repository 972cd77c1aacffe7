//! Two people share a practitioner, an organization, a Group and a family Coverage. Each token sees its person's own
//! rows and the rows that they refer to. No request leads to a row of the other person.

use std::collections::BTreeSet;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use tabularium::search::SnapshotToken;

use crate::harness::records::{self, Record};
use crate::harness::server::{Answer, Server};
use crate::health_links::Link;
use crate::patient::cards;
use crate::pdf::reading::text;

/// Ann and Ben, the rows that they share, and rows that no patient token may see.
fn family() -> Vec<Value> {
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
fn visible(id: &str) -> Vec<(&'static str, Vec<String>)> {
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

fn entries(answer: &Answer) -> Vec<Value> {
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

fn ids(resources: &[Value]) -> Vec<String> {
    let ids: BTreeSet<String> = resources
        .iter()
        .map(|resource| resource["id"].as_str().unwrap_or_default().to_owned())
        .collect();
    ids.into_iter().collect()
}

#[test]
fn searches_show_a_person_their_own_rows_and_what_those_refer_to() {
    let server = Server::imported(&family());
    for id in ["ann", "ben"] {
        let token = server.patient_token(id);
        for (ty, expected) in visible(id) {
            let all = entries(&server.get(&format!("/fhir/{ty}?_count=1000"), &token));
            assert_eq!(ids(&all), expected, "{id}: {ty}");
            let counted = server.get(&format!("/fhir/{ty}?_summary=count"), &token).json();
            assert_eq!(counted["total"], expected.len(), "{id}: {ty}");
            let mut walked = Vec::new();
            let mut next = Some(format!("/fhir/{ty}?_count=1"));
            while let Some(path) = next {
                let page = server.get(&path, &token);
                walked.extend(ids(&entries(&page)));
                let links = page.json()["link"].clone();
                let link = links
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|link| link["relation"] == "next")
                    .cloned();
                next = link.map(|link| link["url"].as_str().unwrap().split_once("/fhir/").unwrap().1.to_owned());
                next = next.map(|rest| format!("/fhir/{rest}"));
            }
            walked.sort();
            assert_eq!(walked, expected, "{id}: {ty} page by page");
        }
    }
}

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

#[test]
fn reads_by_guessed_ids_find_nothing_of_another() {
    let server = Server::imported(&family());
    let everything = family();
    for id in ["ann", "ben"] {
        let token = server.patient_token(id);
        let shown: BTreeSet<String> = visible(id)
            .into_iter()
            .flat_map(|(ty, ids)| ids.into_iter().map(move |id| format!("{ty}/{id}")))
            .collect();
        for resource in &everything {
            let name = format!(
                "{}/{}",
                resource["resourceType"].as_str().unwrap(),
                resource["id"].as_str().unwrap()
            );
            let answer = server.get(&format!("/fhir/{name}"), &token);
            if shown.contains(&name) {
                assert_eq!(answer.status, 200, "{id} reads {name}");
            } else {
                assert_eq!(
                    (answer.status, answer.issue().as_str()),
                    (404, "not-found"),
                    "{id} reads {name}"
                );
                assert!(!answer.text.contains("Unrelated"));
            }
        }
    }
    let application = server.application_token();
    for resource in &everything {
        let name = format!(
            "{}/{}",
            resource["resourceType"].as_str().unwrap(),
            resource["id"].as_str().unwrap()
        );
        assert_eq!(
            server.get(&format!("/fhir/{name}"), &application).status,
            200,
            "the application reads {name}"
        );
    }
}

#[test]
fn parameters_and_includes_lead_to_no_row_of_another() {
    let server = Server::imported(&family());
    let ann = server.patient_token("ann");
    for query in [
        "Observation?subject=Patient/ben",
        "Observation?patient=ben",
        "Observation?_id=obs-ben",
        "Observation?has-member=Observation/obs-ann",
        "ExplanationOfBenefit?patient=Patient/ben",
        "Patient?_id=ben",
        "Patient?name=ben",
        "Patient?link=Patient/ann",
        "Group?member=Patient/ann",
        "Practitioner?family=Unrelated",
        "Observation?subject:Patient.family=ben",
        "Observation?has-member.subject:Patient.family=ben",
        "Observation?has-member:Observation.status=final",
        "Patient?link.family=ben",
        "Patient?_has:Observation:subject:_id=obs-ben",
        "Patient?_has:Group:member:_id=household",
        "Practitioner?_has:Observation:performer:_id=obs-ben",
        "Observation?_filter=subject.family+eq+%22ben%22+or+_id+eq+obs-ben",
        "Practitioner?_content=Unrelated",
        "Patient/ben/Observation",
        "Patient/ben/ExplanationOfBenefit",
        "Patient/ben/Patient?_id=ben",
        "Patient/ann/Appointment",
    ] {
        assert!(
            entries(&server.get(&format!("/fhir/{query}"), &ann)).is_empty(),
            "{query}"
        );
    }
    for (query, expected) in [
        (
            "Observation?_include=Observation:has-member&_include=Observation:performer",
            vec!["doc", "obs-ann"],
        ),
        (
            "Patient?_include=Patient:link&_include=Patient:general-practitioner",
            vec!["ann", "role"],
        ),
        (
            "Patient?_revinclude=Observation:subject&_revinclude=Group:member",
            vec!["ann", "obs-ann"],
        ),
        ("Practitioner?_revinclude=Observation:performer", vec!["doc", "obs-ann"]),
        (
            "Coverage?_include=Coverage:subscriber&_include=Coverage:payor",
            vec!["family", "payer"],
        ),
        ("Observation?_include=*", vec!["ann", "doc", "obs-ann"]),
        ("Observation?_include:iterate=Observation:has-member", vec!["obs-ann"]),
        (
            "Coverage?_include=Coverage:beneficiary&_revinclude:iterate=Observation:subject&_include:iterate=Patient:link",
            vec!["ann", "family", "obs-ann"],
        ),
        ("Patient?_revinclude=*", vec!["ann", "claim-ann", "family", "obs-ann"]),
        ("Practitioner?_has:Observation:performer:_id=obs-ann", vec!["doc"]),
        ("Patient/ann/Observation", vec!["obs-ann"]),
        ("Patient/$PATIENT_ID/ExplanationOfBenefit", vec!["claim-ann"]),
        ("Patient/ann/Patient", vec!["ann"]),
        // The row is Ann's own and refers to Ben.
        ("Patient/ben/Coverage", vec!["family"]),
    ] {
        assert_eq!(
            ids(&entries(&server.get(&format!("/fhir/{query}"), &ann))),
            expected,
            "{query}"
        );
    }
    let application = server.application_token();
    for (path, expected) in [
        ("Patient/ben/Coverage", vec!["family"]),
        ("Patient/ben/Observation?status=final", vec!["obs-ben"]),
        ("Patient/ann/Appointment", vec!["both"]),
        ("Patient/nobody/Observation", vec![]),
    ] {
        let found = ids(&entries(&server.get(&format!("/fhir/{path}"), &application)));
        assert_eq!(found, expected, "{path}");
    }
    let outside = server.get("/fhir/Patient/ann/Practitioner", &application);
    assert_eq!((outside.status, outside.issue().as_str()), (404, "not-supported"));
    let ben = server.patient_token("ben");
    let claims = entries(&server.get(
        "/fhir/ExplanationOfBenefit?_include=ExplanationOfBenefit:coverage&_include=ExplanationOfBenefit:provider",
        &ben,
    ));
    assert_eq!(ids(&claims), ["claim-ben", "clinic"]);
}

#[test]
fn bodies_wildcards_and_anothers_links_stay_within_the_token() {
    let server = Server::imported(&family());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    let headers = [
        ("authorization", format!("Bearer {ann}")),
        ("content-type", "application/x-www-form-urlencoded".to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let posted = server.send("POST", "/fhir/Observation/_search", &headers, "subject=Patient/ben");
    assert!(entries(&posted).is_empty());
    let wildcard = entries(&server.get("/fhir/Observation?subject=Patient/$PATIENT_ID", &ann));
    assert_eq!(ids(&wildcard), ["obs-ann"]);
    let page = server.get("/fhir/Organization?_count=1", &ann).json();
    let links = page["link"].as_array().unwrap();
    let next = links.iter().find(|link| link["relation"] == "next").unwrap()["url"]
        .as_str()
        .unwrap();
    let path = format!("/fhir/{}", next.split_once("/fhir/").unwrap().1);
    let seen_by_ben = ids(&entries(&server.get(&path, &ben)));
    assert!(seen_by_ben.iter().all(|id| id != "payer"), "{seen_by_ben:?}");
}

#[test]
fn views_tabulate_only_what_the_token_shows() {
    let server = Server::imported(&family());
    let run = |token: &str, extra: Value| {
        let mut parameters = vec![
            json!({"name":"viewResource","resource":{"resourceType":"ViewDefinition","name":"v",
            "status":"active","resource":"Observation","select":[{"column":[{"name":"id","path":"id"}]}]}}),
        ];
        parameters.extend(extra.as_array().cloned().unwrap_or_default());
        let body = json!({"resourceType":"Parameters","parameter":parameters}).to_string();
        let headers = [
            ("authorization", format!("Bearer {token}")),
            ("content-type", "application/fhir+json".to_owned()),
        ];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let answer = server.send("POST", "/fhir/ViewDefinition/$run", &headers, &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        ids(answer.json()["rows"].as_array().unwrap())
    };
    let ann = server.patient_token("ann");
    assert_eq!(run(&ann, json!([])), ["obs-ann"]);
    let other = json!([{"name":"patient","valueReference":{"reference":"Patient/ben"}}]);
    assert!(run(&ann, other.clone()).is_empty());
    let application = server.application_token();
    assert_eq!(run(&application, json!([])), ["obs-ann", "obs-ben"]);
    assert_eq!(run(&application, other), ["obs-ben"]);
}

const RUNS: [&str; 4] = [
    "/fhir/ViewDefinition/$run",
    "/fhir/ViewDefinition/$viewdefinition-run",
    "/fhir/$viewdefinition-run",
    "/fhir/$sql-run",
];

/// Runs a view of the ids of a type, with these additional parameters.
fn run(server: &Server, token: &str, path: &str, ty: &str, more: &[Value]) -> Answer {
    let view = json!({"resourceType":"ViewDefinition","status":"active","resource":ty,
        "select":[{"column":[{"name":"id","path":"id"}]}]});
    let mut parameters = vec![json!({"name":"viewResource","resource":view})];
    parameters.extend(more.iter().cloned());
    let body = json!({"resourceType":"Parameters","parameter":parameters}).to_string();
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
    ];
    server.send("POST", path, &headers, &body)
}

fn rows(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    ids(answer.json()["rows"].as_array().unwrap())
}

fn reference(name: &str, to: &str) -> Value {
    json!({"name":name,"valueReference":{"reference":to}})
}

#[test]
fn views_show_the_tokens_rows_by_every_name_and_page() {
    let server = Server::imported(&family());
    for id in ["ann", "ben"] {
        let token = server.patient_token(id);
        for (ty, expected) in visible(id) {
            for path in RUNS {
                let answer = run(&server, &token, path, ty, &[]);
                assert_eq!(rows(&answer), expected, "{id}: {ty} by {path}");
                assert_eq!(answer.header("x-resource-count"), expected.len().to_string());
            }
            // Pages reached by offset show no more than pages reached by links.
            let mut walked = Vec::new();
            for offset in 0..12 {
                let path = format!("{}?_count=1&_offset={offset}", RUNS[0]);
                walked.extend(rows(&run(&server, &token, &path, ty, &[])));
            }
            walked.sort();
            assert_eq!(walked, expected, "{id}: {ty} page by page");
        }
    }
}

#[test]
fn parameters_of_a_view_lead_to_no_row_of_another() {
    let server = Server::imported(&family());
    let ann = server.patient_token("ann");
    for path in RUNS {
        for ty in [
            "Patient",
            "Observation",
            "ExplanationOfBenefit",
            "Coverage",
            "Appointment",
        ] {
            let other = [reference("patient", "Patient/ben")];
            assert!(rows(&run(&server, &ann, path, ty, &other)).is_empty(), "{ty}");
            let by_query = format!("{path}?patient=Patient/ben&_since=1970-01-01T00:00:00Z");
            assert!(rows(&run(&server, &ann, &by_query, ty, &[])).is_empty(), "{ty}");
            let both = [
                reference("patient", "Patient/ben"),
                reference("patient", "Patient/$PATIENT_ID"),
            ];
            let found = rows(&run(&server, &ann, path, ty, &both));
            assert!(found.iter().all(|id| !id.contains("ben")), "{ty}: {found:?}");
        }
        for group in ["household", "nobody"] {
            let grouped = run(
                &server,
                &ann,
                path,
                "Observation",
                &[reference("group", &format!("Group/{group}"))],
            );
            assert_eq!(
                (grouped.status, grouped.issue().as_str()),
                (422, "processing"),
                "{}",
                grouped.text
            );
            let by_query = run(&server, &ann, &format!("{path}?group={group}"), "Observation", &[]);
            assert_eq!((by_query.status, by_query.issue().as_str()), (422, "processing"));
        }
    }
}

#[test]
fn resources_that_are_sent_bring_nothing_of_the_lake() {
    let server = Server::imported(&family());
    let ann = server.patient_token("ann");
    let mine = json!({"resourceType":"Observation","id":"mine","status":"final","code":{"text":"c"},
        "subject":{"reference":"Patient/ben"},"hasMember":[{"reference":"Observation/obs-ben"}]});
    let sent = json!({"name":"resource","resource":mine});
    assert_eq!(
        rows(&run(&server, &ann, RUNS[0], "Observation", std::slice::from_ref(&sent))),
        ["mine"]
    );
    // Whatever patient is named, the rows are those in the request.
    let of_ben = [sent.clone(), reference("patient", "Patient/ben")];
    assert_eq!(rows(&run(&server, &ann, RUNS[0], "Observation", &of_ben)), ["mine"]);
    assert!(rows(&run(&server, &ann, RUNS[0], "Patient", &of_ben)).is_empty());
    let grouped = [sent, reference("group", "Group/household")];
    let grouped = run(&server, &ann, RUNS[0], "Observation", &grouped);
    assert_eq!((grouped.status, grouped.issue().as_str()), (422, "processing"));
}

#[test]
fn links_of_a_view_show_their_reader_no_more_than_their_own() {
    let server = Server::imported(&family());
    let (ann, ben) = (server.patient_token("ann"), server.patient_token("ben"));
    let local = |link: &str| format!("/fhir/{}", link.split_once("/fhir/").unwrap().1);
    for token in [&ann, &server.application_token()] {
        let page = run(&server, token, &format!("{}?_count=1", RUNS[0]), "Organization", &[]);
        let next = local(page.header("x-next-link"));
        let seen = rows(&run(&server, &ben, &next, "Organization", &[]));
        assert!(seen.iter().all(|id| id == "clinic" || id == "trust"), "{seen:?}");
        let seen = rows(&run(&server, &ben, &next, "Observation", &[]));
        assert!(seen.is_empty(), "Ben has one, and this is the second page: {seen:?}");
    }
    // Links to snapshots that the token's holder never received: one of another time, and none.
    for snapshot in 0..5 {
        let tag = SnapshotToken { snapshot, erasures: 0 }.text(&server.lake);
        let answer = run(&server, &ben, &format!("{}?_tag={tag}", RUNS[0]), "Observation", &[]);
        match answer.status {
            200 => assert!(rows(&answer).iter().all(|id| id == "obs-ben")),
            status => assert_eq!((status, answer.issue().as_str()), (410, "expired")),
        }
    }
    // Guessed snapshot numbers are refused too.
    for made_up in ["~~1.00", "~~1-0.9e", "~~AQAAAAAAAAAAAAAAAAAAAA"] {
        let answer = run(
            &server,
            &ben,
            &format!("{}?_tag={made_up}", RUNS[0]),
            "Observation",
            &[],
        );
        assert_eq!((answer.status, answer.issue().as_str()), (400, "invalid"), "{made_up}");
    }
}

#[test]
fn another_applications_groups_and_people_are_not_there() {
    let server = Server::imported(&family());
    let theirs = |resource: Value| Record::new(resource).application("other");
    let of_zoe = |resource: Value| {
        let owner = server.lake.owner_of("other", "zoe");
        Record {
            patient: Some("zoe".to_owned()),
            ..theirs(resource).owner(owner)
        }
    };
    records::commit(
        &server.lake,
        &[
            theirs(
                json!({"resourceType":"Group","id":"theirs","type":"person","actual":true,
                "member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/zoe"}}]}),
            ),
            of_zoe(json!({"resourceType":"Patient","id":"zoe"})),
            of_zoe(
                json!({"resourceType":"Observation","id":"obs-zoe","status":"final","code":{"text":"c"},
                "subject":{"reference":"Patient/zoe"}}),
            ),
        ],
    );
    let application = server.application_token();
    for path in RUNS {
        for id in ["theirs", "nobodys"] {
            let grouped = run(
                &server,
                &application,
                path,
                "Observation",
                &[reference("group", &format!("Group/{id}"))],
            );
            assert_eq!(
                (grouped.status, grouped.issue().as_str()),
                (404, "not-found"),
                "{}",
                grouped.text
            );
            assert!(!grouped.text.contains("zoe") && !grouped.text.contains("ann"));
        }
        let ours = [reference("group", "Group/household")];
        assert_eq!(
            rows(&run(&server, &application, path, "Observation", &ours)),
            ["obs-ann", "obs-ben"]
        );
        let theirs = [reference("patient", "Patient/zoe")];
        assert!(rows(&run(&server, &application, path, "Observation", &theirs)).is_empty());
        assert_eq!(
            rows(&run(&server, &application, path, "Observation", &[])),
            ["obs-ann", "obs-ben"]
        );
    }
}

/// Rows with rewritten ids belong to an owner that only the id determines. They were searched by the hash of the new
/// id, so searches by patient and patient tokens found nothing.
#[test]
fn rewritten_ids_lead_to_the_same_rows() {
    let server = Server::rewritten(&family());
    let application = server.application_token();
    let id_of = |family: &str| {
        let found = entries(&server.get(&format!("/fhir/Patient?family:exact={family}"), &application));
        ids(&found).remove(0)
    };
    let (ann, ben) = (id_of("ann"), id_of("ben"));
    let subjects = |answer: Answer| {
        let found = entries(&answer);
        found
            .iter()
            .map(|row| row["subject"]["reference"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for id in [&ann, &ben] {
        let own = vec![format!("Patient/{id}")];
        assert_eq!(
            subjects(server.get(&format!("/fhir/Observation?patient={id}"), &application)),
            own
        );
        assert_eq!(
            subjects(server.get(&format!("/fhir/Observation?patient={id},nobody"), &application)),
            own
        );
        assert_eq!(
            subjects(server.get("/fhir/Observation", &server.patient_token(id))),
            own
        );
    }
    let both = subjects(server.get(&format!("/fhir/Observation?patient={ann},{ben}"), &application));
    assert_eq!(both.len(), 2);
    let token = server.patient_token(&ann);
    assert!(subjects(server.get(&format!("/fhir/Observation?patient={ben}"), &token)).is_empty());
}
