//! What the pages of `$pdf` say: devices, names in place of references, narratives, answers and long texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::command::record;
use crate::harness::server::Server;
use crate::pdf::reading::{squeezed, text};

const PDF: &str = "/fhir/Patient/$PATIENT_ID/$pdf";

fn ann() -> Value {
    json!({"reference": "Patient/ann"})
}

fn people() -> Vec<Value> {
    vec![
        json!({"resourceType": "Patient", "id": "ann", "name": [{"family": "Ash"}]}),
        json!({"resourceType": "Patient", "id": "ben", "name": [{"family": "Birch"}]}),
    ]
}

fn get(server: &Server, path: &str, token: &str) -> (ureq::http::HeaderMap, Vec<u8>) {
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str())];
    let (status, headers, file) = server.send_bytes("GET", path, &headers, &[]);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&file));
    (headers, file)
}

/// Ann's pages from each caller, without white space.
fn by_all_ways(records: &[Value]) -> [(&'static str, String); 3] {
    let server = Server::imported(records);
    let by_command = record("pdf", server.folder(), &["--patient", "ann"]);
    let said = String::from_utf8_lossy(&by_command.stderr).into_owned();
    assert!(by_command.status.success(), "{said}");
    [
        ("patient", get(&server, PDF, &server.patient_token("ann")).1),
        (
            "application",
            get(&server, "/fhir/Patient/ann/$pdf", &server.application_token()).1,
        ),
        ("command", by_command.stdout),
    ]
    .map(|(way, file)| (way, text(&file)))
}

/// R4's compartment has no Devices, so the pages had none.
#[test]
fn a_patients_devices_are_shown_and_nobody_elses() {
    let device = |id: &str, name: &str, patient: Option<&str>| {
        let mut device = json!({"resourceType": "Device", "id": id,
            "deviceName": [{"name": name, "type": "user-friendly-name"}], "serialNumber": format!("SN-{id}")});
        if let Some(patient) = patient {
            device["patient"] = json!({"reference": format!("Patient/{patient}")});
        }
        device
    };
    let used = |id: &str, device: &str| {
        json!({"resourceType": "DeviceUseStatement", "id": id, "status": "active", "subject": ann(),
            "device": {"reference": format!("Device/{device}")}})
    };
    let mut records = people();
    records.extend([
        device("own", "Pacemaker", Some("ann")),
        device("used", "Glucometer", None),
        device("bens", "Insulinpump", Some("ben")),
        device("nobodys", "Thermometer", None),
        used("u1", "own"),
        used("u2", "used"),
        used("u3", "bens"),
    ]);
    for (way, shown) in by_all_ways(&records) {
        for (name, times) in [("Pacemaker", 2), ("Glucometer", 2), ("SN-own", 1), ("SN-used", 1)] {
            assert_eq!(shown.matches(name).count(), times, "{way}: {name}: {shown}");
        }
        for other in ["Insulinpump", "SN-bens", "Thermometer"] {
            assert!(!shown.contains(other), "{way}: {other}");
        }
    }
}

/// References without a display were shown by their ids, and a contained medicine as `#med`.
#[test]
fn references_are_shown_by_the_names_of_what_they_lead_to() {
    let refer = |to: &str| json!({"reference": to});
    let concept = |text: &str| json!({"text": text});
    let mut records = people();
    records.extend([
        json!({"resourceType": "Practitioner", "id": "p", "name": [{"text": "DrRuiz"}]}),
        json!({"resourceType": "Organization", "id": "o", "name": "Hillclinic"}),
        json!({"resourceType": "PractitionerRole", "id": "r", "practitioner": refer("Practitioner/p")}),
        json!({"resourceType": "Medication", "id": "m", "code": concept("Metformin")}),
        json!({"resourceType": "MedicationRequest", "id": "m1", "subject": ann(), "status": "active", "intent": "order",
            "contained": [{"resourceType": "Medication", "id": "med", "code": concept("Aspirin")}],
            "medicationReference": refer("#med"), "requester": refer("Practitioner/p")}),
        json!({"resourceType": "MedicationStatement", "id": "m2", "subject": ann(), "status": "active",
            "medicationReference": refer("Medication/m"), "informationSource": refer("PractitionerRole/r")}),
        json!({"resourceType": "Condition", "id": "c", "subject": ann(), "code": concept("Gout")}),
        json!({"resourceType": "Encounter", "id": "e", "status": "finished", "class": {"code": "AMB"}, "subject": ann(),
            "serviceProvider": refer("Organization/o"), "diagnosis": [{"condition": refer("Condition/c")}]}),
        json!({"resourceType": "ExplanationOfBenefit", "id": "b", "status": "active", "use": "claim", "outcome": "complete",
            "type": concept("Pharmacy"), "patient": ann(), "created": "2024-01-02", "insurer": refer("Organization/o"),
            "provider": refer("Organization/o"), "insurance": [{"focal": true, "coverage": {"display": "Plan"}}],
            "diagnosis": [{"sequence": 1, "diagnosisReference": refer("Condition/c")}]}),
        json!({"resourceType": "Communication", "id": "k", "status": "completed", "subject": ann(),
            "sender": refer("Practitioner/p"), "about": [refer("https://elsewhere.example/fhir/Basic/1")]}),
    ]);
    for (way, shown) in by_all_ways(&records) {
        for (name, times) in [
            ("Aspirin", 1),
            ("Metformin", 1),
            // The prescription, the statement by a role, and the message; then the people's own entries.
            ("DrRuiz", 4),
            ("Gout", 3),
        ] {
            assert!(shown.matches(name).count() >= times, "{way}: {name}: {shown}");
        }
        for id in [
            "#med",
            "Medication/",
            "Practitioner/",
            "PractitionerRole/",
            "Organization/",
            "Condition/",
        ] {
            assert!(!shown.contains(id), "{way}: {id}: {shown}");
        }
        // A reference to a resource elsewhere keeps its address.
        assert!(shown.contains("https://elsewhere.example/fhir/Basic/1"), "{way}");
    }
}

/// A text of more than 2,000 bytes was cut to 200 letters. A plan with a narrative only was its category, and an answer
/// that is a file was neither named nor shown.
#[test]
fn narratives_answers_and_long_texts_are_shown_whole() {
    let long = format!("{} lastword", "word ".repeat(1_000));
    let file = STANDARD.encode("Member 4711 of a plan");
    let mut records = people();
    records.extend([
        json!({"resourceType": "CarePlan", "id": "p", "status": "active", "intent": "plan", "subject": ann(),
            "category": [{"text": "Assessment"}], "text": {"status": "additional",
                "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\"><p>Walk daily</p><ul><li>Less salt</li></ul></div>"}}),
        json!({"resourceType": "CarePlan", "id": "q", "status": "active", "intent": "plan", "subject": ann(),
            "activity": [{"detail": {"status": "in-progress", "code": {"text": "Swimming"}}}], "text": {"status": "generated",
                "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">Generated text</div>"}}),
        json!({"resourceType": "DiagnosticReport", "id": "d", "status": "final", "subject": ann(), "code": {"text": "Autopsy"},
            "conclusion": long}),
        json!({"resourceType": "Communication", "id": "k", "status": "completed", "subject": ann(),
            "payload": [{"contentString": long}]}),
        json!({"resourceType": "QuestionnaireResponse", "id": "a", "status": "completed", "subject": ann(), "item": [
            {"linkId": "1", "text": "Your card", "answer": [{"valueAttachment":
                {"contentType": "text/plain", "title": "Frontside", "data": file}}]},
            {"linkId": "2", "text": "Who sees you", "answer": [{"valueReference": {"reference": "Practitioner/p"}}]}]}),
        json!({"resourceType": "Practitioner", "id": "p", "name": [{"family": "Ruiz"}]}),
    ]);
    for (way, shown) in by_all_ways(&records) {
        for expected in ["Walk daily", "Less salt", "Swimming", "Member 4711 of a plan"] {
            assert!(shown.contains(&squeezed(expected)), "{way}: {expected}: {shown}");
        }
        assert!(!shown.contains("Generatedtext"), "{way}");
        assert_eq!(shown.matches("lastword").count(), 2, "{way}");
        // In the row of the answer, and over the document.
        assert_eq!(shown.matches("Frontside").count(), 2, "{way}");
        assert!(shown.matches("Ruiz").count() >= 2, "{way}");
    }
}

/// The column of the team was empty if the team had no name, and the reasons for a team stood nowhere.
#[test]
fn a_care_team_has_a_name_and_reasons() {
    let mut records = people();
    records.extend([
        json!({"resourceType": "Organization", "id": "o", "name": "Lakeside"}),
        json!({"resourceType": "Condition", "id": "c", "subject": ann(), "code": {"text": "Gout"}}),
        json!({"resourceType": "CareTeam", "id": "t", "status": "active", "subject": ann(),
            "managingOrganization": [{"reference": "Organization/o"}],
            "participant": [{"member": {"display": "DrRuiz"}, "onBehalfOf": {"display": "Hillclinic"}}],
            "reasonCode": [{"text": "Asthma"}], "reasonReference": [{"reference": "Condition/c"}],
            "note": [{"text": "Meets on Fridays"}]}),
    ]);
    for (way, shown) in by_all_ways(&records) {
        // The organization and the condition have entries of their own.
        for (name, times) in [("Lakeside", 2), ("Asthma", 1), ("Gout", 2), ("Hillclinic", 1)] {
            assert_eq!(shown.matches(name).count(), times, "{way}: {name}: {shown}");
        }
        assert!(shown.contains("MeetsonFridays"), "{way}: {shown}");
    }
}

/// Reports without a section showed the beginning of a document in base64.
#[test]
fn a_report_names_its_document_and_shows_no_base64() {
    let note = "Readable words of the nurse";
    let data = STANDARD.encode(note);
    let mut records = people();
    records.push(
        json!({"resourceType": "DiagnosticReport", "id": "d", "status": "final", "subject": ann(),
            "code": {"text": "Nursing"}, "category": [{"text": "Cardiology"}],
            "presentedForm": [{"contentType": "text/plain", "title": "Nursenote", "data": data}]}),
    );
    for (way, shown) in by_all_ways(&records) {
        assert!(shown.contains(&squeezed(note)), "{way}: {shown}");
        let named = format!("Nursenote(text/plain,{}bytes,under", note.len());
        assert!(shown.contains(&named), "{way}: {shown}");
        assert!(!shown.contains(&data[..10]), "{way}: {shown}");
    }
}

/// `$pdf` ignored the preference, which `$summary` observes.
#[test]
fn a_strict_client_learns_of_unknown_parameters() {
    let server = Server::imported(&people());
    let authorization = format!("Bearer {}", server.patient_token("ann"));
    let ask = |query: &str, prefer: &str| {
        let headers = [("authorization", authorization.as_str()), ("prefer", prefer)];
        let (status, headers, body) = server.send_bytes("GET", &format!("{PDF}?{query}"), &headers, &[]);
        let applied = headers.get("preference-applied");
        (status, applied.map(|value| value.to_str().unwrap().to_owned()), body)
    };
    let (status, _, body) = ask("patient-authorisation-id=x", "handling=strict");
    let body = String::from_utf8(body).unwrap();
    assert_eq!(status, 400);
    assert!(body.contains("patient-authorisation-id"), "{body}");
    let (status, applied, _) = ask("_format=pdf", "handling=strict");
    assert_eq!((status, applied.as_deref()), (200, Some("handling=strict")));
    let (status, applied, _) = ask("colour=red", "handling=lenient");
    assert_eq!((status, applied.as_deref()), (200, Some("handling=lenient")));
}

/// The command called the same source otherwise than the server.
#[test]
fn the_command_names_a_source_as_the_server_does() {
    let server = Server::imported(&people());
    let (_, by_server) = get(&server, &format!("{PDF}?_format=zip"), &server.patient_token("ann"));
    let by_command = record("pdf", server.folder(), &["--patient", "ann", "--zip"]).stdout;
    let names = |file: Vec<u8>| -> Vec<String> {
        let archive = zip::ZipArchive::new(std::io::Cursor::new(file)).unwrap();
        archive.file_names().map(|name| name.unwrap().into_owned()).collect()
    };
    assert_eq!(names(by_command), names(by_server));
}
