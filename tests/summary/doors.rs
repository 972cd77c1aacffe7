//! `$summary` over HTTP: the records that each caller gets, and the refusals.

use serde_json::{Value, json};

use super::harness::Document;
use crate::harness::command::record;
use crate::harness::server::{Answer, Server};
use crate::pdf::reading::{assert_in_order, squeezed, text};

const SUMMARY: &str = "/fhir/Patient/$PATIENT_ID/$summary";

/// Ann with her records; Ben, who has the same doctor and secrets of his own.
fn records() -> Vec<Value> {
    let about = |name: &str| json!({"reference": format!("Patient/{name}")});
    vec![
        json!({"resourceType":"Patient","id":"ann","name":[{"family":"Ash","given":["Ann"]}],"birthDate":"1980-01-02",
            "identifier":[{"system":"urn:members","value":"1"}]}),
        json!({"resourceType":"Patient","id":"ben","name":[{"family":"Birch"}],"birthDate":"1990-01-02",
            "identifier":[{"system":"urn:members","value":"2"},{"system":"urn:other","value":"1"}]}),
        json!({"resourceType":"Patient","id":"twin","name":[{"family":"Birch"}],"identifier":[{"system":"urn:members","value":"2"}]}),
        json!({"resourceType":"Condition","id":"asthma","code":{"text":"Asthma"},"subject":about("ann"),
            "recorder":{"reference":"Practitioner/doc"}}),
        json!({"resourceType":"Condition","id":"secret","code":{"text":"Secret"},"subject":about("ben"),
            "recorder":{"reference":"Practitioner/doc"}}),
        json!({"resourceType":"Observation","id":"told","status":"final","code":{"text":"Told by Ann of Ben"},"subject":about("ben"),
            "performer":[about("ann")],"category":[{"coding":[{"code":"laboratory"}]}],"valueString":"Secret"}),
        json!({"resourceType":"MedicationRequest","id":"order","status":"active","intent":"order","subject":about("ann"),
            "medicationReference":{"reference":"Medication/pill"},"authoredOn":"2024-01-01"}),
        json!({"resourceType":"Medication","id":"pill","code":{"text":"Salbutamol"}}),
        json!({"resourceType":"Device","id":"pump","status":"active","type":{"text":"Insulin pump"},"patient":about("ann")}),
        json!({"resourceType":"Device","id":"bens","status":"active","type":{"text":"Secret"},"patient":about("ben")}),
        json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Doe"}]}),
    ]
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn post(server: &Server, token: &str, path: &str, content_type: &str, body: &str) -> Answer {
    let headers = [("authorization", &*bearer(token)), ("content-type", content_type)];
    server.send("POST", path, &headers, body)
}

/// The document in an answer, after all checks.
fn document(answer: &Answer) -> Document {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.header("content-type").starts_with("application/fhir+json"));
    let document = Document(answer.json());
    document.check();
    document
}

fn refused(answer: &Answer, status: u16, code: &str, told: &str) {
    assert_eq!(
        (answer.status, answer.issue().as_str()),
        (status, code),
        "{}",
        answer.text
    );
    assert!(answer.text.contains(told), "{}", answer.text);
}

#[test]
fn a_patient_gets_a_document_of_their_own_records() {
    let server = Server::imported(&records());
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for (path, token) in [
        (SUMMARY, &ann),
        ("/fhir/Patient/ann/$summary", &ann),
        ("/fhir/Patient/ann/%24summary", &ann),
        ("/fhir/Patient/ann/$summary", &application),
        ("/fhir/Patient/$summary?identifier=urn:members%7C1", &application),
        ("/fhir/Patient/$summary?identifier=1", &ann),
    ] {
        let answer = server.get(path, token);
        let summary = document(&answer);
        assert_eq!(summary.names("problems"), ["Asthma"], "{path}");
        assert_eq!(summary.names("medications"), ["Salbutamol"]);
        assert_eq!(summary.names("devices"), ["Insulin pump"]);
        assert_eq!(summary.empty("results"), Some("unavailable"));
        assert!(
            !answer.text.contains("Secret") && !answer.text.contains("ben"),
            "{path}"
        );
        let subject = summary.composition()["subject"]["reference"].as_str().unwrap();
        assert_eq!(subject, format!("http://{}/fhir/Patient/ann", server.address));
    }
}

/// The document includes its PDF: the text of the narratives, the same sections left out, and no other person's
/// records.
#[test]
fn a_document_has_its_pages_inside() {
    let server = Server::imported(&records());
    server
        .store
        .settings()
        .set_base_url(&format!("http://{}", server.address))
        .unwrap();
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    let by_http = |path: &str, token: &str| document(&server.get(path, token));
    let by_command = record("summary", server.folder(), &["--patient", "ann"]);
    for summary in [
        by_http(SUMMARY, &ann),
        by_http("/fhir/Patient/ann/$summary", &application),
        Document(serde_json::from_slice(&by_command.stdout).unwrap()),
    ] {
        summary.check();
        let file = summary.pdf();
        let mut expected = vec!["International Patient Summary of Ann Ash, born 1980-01-02".to_owned()];
        for section in summary.composition()["section"].as_array().unwrap() {
            expected.push(section["title"].as_str().unwrap().to_owned());
            let rows = section["text"]["div"].as_str().unwrap();
            let names = ["Salbutamol", "Asthma", "Insulin pump"];
            expected.extend(
                names
                    .iter()
                    .filter(|name| rows.contains(*name))
                    .map(|name| (*name).to_owned()),
            );
            if section["emptyReason"].is_object() {
                expected.push("is available.".to_owned());
            }
        }
        assert_eq!(expected.len(), 1 + 14 + 14);
        assert_in_order(&file, &expected.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(!text(&file).contains("Secret"));
    }
    let narrow = by_http(&format!("{SUMMARY}?_section=problems"), &ann);
    let text = text(&narrow.pdf());
    assert!(text.contains("Asthma") && !text.contains("Salbutamol"));
    assert_eq!(text.matches(&squeezed("This section was not asked for.")).count(), 13);
}

#[test]
fn an_entry_is_read_at_its_address() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let summary = document(&server.get(SUMMARY, &token));
    let base = format!("http://{}", server.address);
    let entries = summary.0["entry"].as_array().unwrap();
    let stored = entries
        .iter()
        .filter_map(|entry| entry["fullUrl"].as_str()?.strip_prefix(&base));
    let paths: Vec<&str> = stored.collect();
    assert_eq!(paths.len(), 6, "{paths:?}");
    for path in paths {
        assert_eq!(server.get(path, &token).status, 200, "{path}");
    }
}

#[test]
fn nobody_gets_anything_by_an_id_that_is_not_theirs_to_see() {
    let server = Server::imported(&records());
    let (ann, application) = (server.patient_token("ann"), server.application_token());
    for (path, token) in [
        ("/fhir/Patient/ben/$summary", &ann),
        ("/fhir/Patient/nobody/$summary", &ann),
        ("/fhir/Patient/nobody/$summary", &application),
        ("/fhir/Patient/no%20id/$summary", &application),
        ("/fhir/Patient/$summary?identifier=urn:members%7C2", &ann),
        ("/fhir/Patient/$summary?identifier=urn:members%7C9", &application),
    ] {
        refused(&server.get(path, token), 404, "not-found", "");
    }
    assert_eq!(server.get(SUMMARY, "").status, 401);
}

#[test]
fn the_wildcard_needs_a_patient() {
    let server = Server::imported(&records());
    let application = server.application_token();
    refused(&server.get(SUMMARY, &application), 422, "processing", "$PATIENT_ID");
}

#[test]
fn an_identifier_means_one_patient() {
    let server = Server::imported(&records());
    let application = server.application_token();
    let of_two = server.get("/fhir/Patient/$summary?identifier=urn:members%7C2", &application);
    refused(&of_two, 422, "processing", "several Patients");
    refused(
        &server.get("/fhir/Patient/$summary", &application),
        400,
        "required",
        "identifier",
    );
    let both = server.get("/fhir/Patient/ann/$summary?identifier=2", &application);
    refused(&both, 400, "invalid", "identifier");
}

#[test]
fn sections_are_asked_for_by_alias_or_code() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let form = "application/x-www-form-urlencoded";
    let parameters = r#"{"resourceType":"Parameters","parameter":[
        {"name":"_section","valueString":"problems"},{"name":"_section","valueString":"48765-2"}]}"#;
    for answer in [
        server.get(&format!("{SUMMARY}?_section=problems,allergies"), &token),
        server.get(&format!("{SUMMARY}?_section=11450-4&_section=allergies"), &token),
        post(&server, &token, SUMMARY, form, "_section=problems,48765-2"),
        post(&server, &token, SUMMARY, "application/fhir+json", parameters),
    ] {
        let summary = document(&answer);
        assert_eq!(summary.names("problems"), ["Asthma"]);
        assert_eq!(summary.empty("allergies"), Some("unavailable"));
        assert_eq!(summary.empty("medications"), Some("withheld"));
        assert!(!answer.text.contains("Salbutamol"));
    }
    let unknown = server.get(&format!("{SUMMARY}?_section=problems,alerts"), &token);
    refused(&unknown, 400, "invalid", "'alerts'");
}

#[test]
fn only_the_profile_of_ips_is_made() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let profile = "http://hl7.org/fhir/uv/ips/StructureDefinition/Composition-uv-ips";
    document(&server.get(&format!("{SUMMARY}?profile={profile}"), &token));
    document(&server.get(&format!("{SUMMARY}?profile={profile}%7C2.0.1"), &token));
    let other = server.get(&format!("{SUMMARY}?profile=http://example.org/other"), &token);
    refused(&other, 404, "not-supported", "http://example.org/other");
}

#[test]
fn the_form_of_an_answer_is_chosen_as_for_reads() {
    let server = Server::imported(&records());
    let token = server.patient_token("ann");
    let accepting = |content_type: &str| {
        server.send(
            "GET",
            SUMMARY,
            &[("authorization", &bearer(&token)), ("accept", content_type)],
            "",
        )
    };
    document(&accepting("application/fhir+json"));
    assert_eq!(accepting("application/fhir+xml").status, 406);
    assert_eq!(server.get(&format!("{SUMMARY}?_format=xml"), &token).status, 406);
    let indented = server.get(&format!("{SUMMARY}?_pretty=true"), &token);
    assert!(indented.text.starts_with("{\n"));
    document(&indented);
    let strict = [("authorization", &*bearer(&token)), ("prefer", "handling=strict")];
    let unknown = server.send("GET", &format!("{SUMMARY}?sections=all"), &strict, "");
    refused(&unknown, 400, "invalid", "sections");
    document(&server.get(&format!("{SUMMARY}?sections=all"), &token));
}
