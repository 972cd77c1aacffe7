//! The document: its header, requested sections, missing elements, and the text of records.

use serde_json::{Value, json};
use tabularium::patient::summary::{Rendering, Request, Sections, SummaryError, summarize};

use super::harness::{BASE, MOMENT, Person, SECTIONS, loinc, record};

const IPS: &str = "http://hl7.org/fhir/uv/ips/StructureDefinition/";

fn problem(id: &str, more: Value) -> Value {
    let mut condition = record("Condition", id, json!({"code": {"text": id}}));
    condition
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    condition
}

#[test]
fn the_head_says_what_who_and_when() {
    let mut person = Person::new();
    person
        .names
        .0
        .insert("endpoint-1".to_owned(), "Blue \"Plan\"".to_owned());
    person
        .names
        .0
        .insert("endpoint-2".to_owned(), "Nothing came from here".to_owned());
    let tag = |code: &str| json!({"meta": {"tag": [{"system": format!("{BASE}/tags/EndpointId"), "code": code}]}});
    let person = person
        .with(problem("a", tag("endpoint-1")))
        .with(problem("b", tag("unknown")));
    let summary = person.summary();
    let bundle = &summary.0;
    assert_eq!(bundle["timestamp"], "2026-05-04T03:02:01.000Z");
    assert_eq!(bundle["meta"]["profile"], json!([format!("{IPS}Bundle-uv-ips")]));
    let composition = summary.composition();
    assert_eq!(composition["title"], "International Patient Summary");
    assert_eq!(composition["type"]["coding"][0]["code"], "60591-5");
    assert_eq!(composition["status"], "final");
    assert_eq!(
        composition["meta"]["profile"],
        json!([format!("{IPS}Composition-uv-ips")])
    );
    assert_eq!(composition["subject"]["reference"], format!("{BASE}/fhir/Patient/p"));
    let authors = composition["author"].as_array().unwrap();
    let author = |at: usize| summary.resource(authors[at]["reference"].as_str().unwrap());
    assert_eq!(authors.len(), 2);
    assert_eq!(author(0)["resourceType"], "Device");
    assert_eq!(author(1)["name"], "Blue \"Plan\"");
    let custodian = summary.resource(composition["custodian"]["reference"].as_str().unwrap());
    assert_eq!(custodian["name"], "Records service at records.example");
}

#[test]
fn without_records_every_section_says_so() {
    let summary = Person::new().summary();
    for (alias, _) in SECTIONS {
        assert_eq!(summary.empty(alias), Some("unavailable"), "{alias}");
    }
}

#[test]
fn sections_that_are_not_asked_for_are_withheld() {
    let person = Person::new().with(problem("a", json!({}))).with(problem(
        "b",
        json!({"clinicalStatus": {"coding": [{"code": "resolved"}]}}),
    ));
    let summary = person.asking(&["11450-4,allergies"]).summary();
    assert_eq!(summary.names("problems"), ["a"]);
    assert_eq!(summary.empty("allergies"), Some("unavailable"));
    assert_eq!(summary.empty("pastillness"), Some("withheld"));
    assert!(summary.get("Condition/b").is_none());
}

#[test]
fn a_document_is_as_confidential_as_its_most_confidential_record() {
    let labelled = |id: &str, code: &str| {
        let system = "http://terminology.hl7.org/CodeSystem/v3-Confidentiality";
        problem(id, json!({"meta": {"security": [{"system": system, "code": code}]}}))
    };
    let code = |person: Person| {
        let summary = person.summary();
        let code = summary.0["meta"]["security"][0]["code"].clone();
        assert_eq!(code, summary.composition()["confidentiality"]);
        code
    };
    assert_eq!(code(Person::new()), "N");
    assert_eq!(code(Person::new().with(labelled("a", "L"))), "N");
    assert_eq!(code(Person::new().with(labelled("a", "R"))), "R");
    assert_eq!(
        code(Person::new().with(labelled("a", "V")).with(labelled("b", "R"))),
        "V"
    );
    let mut all_low = Person::new().with(labelled("a", "L"));
    all_low.records[0].0 = all_low.records[0].0.replace(
        r#""id":"p""#,
        r#""id":"p","meta":{"security":[{"system":"http://terminology.hl7.org/CodeSystem/v3-Confidentiality","code":"U"}]}"#,
    );
    assert_eq!(code(all_low.clone()), "L");
    assert_eq!(code(all_low.with(labelled("b", "R")).asking(&["allergies"])), "U");
}

#[test]
fn the_text_of_records_is_written_through() {
    let text = r#"{ "resourceType":"Observation", "id":"o", "status":"final", "category":[{"coding":[{"code":"laboratory"}]}],
        "code":{"text":"caf\u00e9"}, "subject":{"reference":"Patient/p"}, "effectiveDateTime":"2020-01-01",
        "valueQuantity":{"value":1.50e0,"unit":"g"}, "referenceRange":[{"low":{"value":0.00100}}] }"#;
    let mut person = Person::new();
    person.records.push((text.to_owned(), true));
    let bytes = person.bytes();
    assert!(bytes.contains(r#""code":{"text":"caf\u00e9"}"#), "{bytes}");
    assert!(
        bytes.contains(r#""valueQuantity":{"value":1.50e0,"unit":"g"},"referenceRange":[{"low":{"value":0.00100}}]"#)
    );
    assert_eq!(person.summary().rows("results")[0][1], "1.50 g");
}

/// A source's narrative was included unchecked. A viewer that relies on R4's rules would have run its scripts.
#[test]
fn narratives_that_r4_does_not_admit_are_left_out() {
    let told = |id: &str, content: &str| {
        let div = format!(r#"<div xmlns="http://www.w3.org/1999/xhtml">{content}</div>"#);
        problem(id, json!({"text": {"status": "generated", "div": div}}))
    };
    let mut holder = told("holder", "<p>Holds another</p>");
    holder["contained"] = json!([told("inside", r#"<img src="javascript:alert(1)"/>"#)]);
    let mut no_div = problem("no-div", json!({}));
    no_div["text"] = json!({"status": "generated"});
    let summary = Person::new()
        .with(told("plain", "<p>Asthma since <b>2020</b></p>"))
        .with(told("script", "<p>Asthma<script>alert(1)</script></p>"))
        .with(told("handler", r#"<p onclick="alert(1)">Asthma</p>"#))
        .with(told("broken", "<p>Asthma"))
        .with(told("blank", "<p> </p>"))
        .with(no_div)
        .with(holder)
        .summary();
    let has_text = |id: &str| summary.get(&format!("Condition/{id}")).unwrap()["text"].is_object();
    assert!(has_text("plain") && has_text("holder"));
    for id in ["script", "handler", "broken", "blank", "no-div"] {
        assert!(!has_text(id), "{id}");
        assert_eq!(summary.get(&format!("Condition/{id}")).unwrap()["code"]["text"], id);
    }
    let holder = summary.get("Condition/holder").unwrap();
    assert_eq!(holder["contained"][0]["id"], "inside");
    assert!(holder["contained"][0]["text"].is_null());
}

#[test]
fn what_ips_requires_and_a_record_lacks_is_unknown() {
    let mut person = Person::new();
    person.records[0].0 = r#"{"resourceType":"Patient","id":"p"}"#.to_owned();
    let result = json!({"status": "final", "category": [{"coding": [
        {"system": "http://terminology.hl7.org/CodeSystem/observation-category", "code": "laboratory"}]}], "code": loinc("1", "x")});
    let summary = person
        .with(record("Condition", "c", json!({})))
        .with(record(
            "Procedure",
            "d",
            json!({"status": "completed", "code": {"text": "x"}}),
        ))
        .with(record("Observation", "o", result))
        .summary();
    let unknown = json!({"extension": [
        {"url": "http://hl7.org/fhir/StructureDefinition/data-absent-reason", "valueCode": "unknown"}]});
    let patient = summary.get("Patient/p").unwrap();
    assert_eq!(patient["_birthDate"], unknown);
    assert_eq!(patient["name"], json!([{"_text": unknown}]));
    assert_eq!(
        summary.get("Condition/c").unwrap()["code"]["coding"][0]["code"],
        "unknown"
    );
    assert_eq!(summary.get("Procedure/d").unwrap()["_performedDateTime"], unknown);
    let observation = summary.get("Observation/o").unwrap();
    assert_eq!(observation["performer"], json!([unknown]));
    assert_eq!(observation["_effectiveDateTime"], unknown);
    assert_eq!(observation["dataAbsentReason"]["coding"][0]["code"], "unknown");
    for (name, profile) in [
        ("Patient/p", "Patient-uv-ips"),
        ("Condition/c", "Condition-uv-ips"),
        ("Procedure/d", "Procedure-uv-ips"),
        ("Observation/o", "Observation-results-laboratory-pathology-uv-ips"),
    ] {
        assert_eq!(
            summary.get(name).unwrap()["meta"]["profile"],
            json!([format!("{IPS}{profile}")]),
            "{name}"
        );
    }
}

#[test]
fn only_profiles_that_are_met_are_named() {
    let profiles =
        json!({"meta": {"profile": ["http://x/other", format!("{IPS}Observation-tobaccouse-uv-ips|1.1.0")]}});
    let smoking = |id: &str, more: Value| {
        let mut record = record("Observation", id, profiles.clone());
        let of_record = json!({"status": "final", "category": [{"coding": [{"code": "social-history"}]}], "valueCodeableConcept": {"text": "Never"}});
        record
            .as_object_mut()
            .unwrap()
            .extend(of_record.as_object().unwrap().clone());
        record
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        record
    };
    let met = json!({"code": loinc("72166-2", "Smoking"), "effectiveDateTime": "2020-01-01"});
    let period = json!({"code": loinc("74013-4", "Alcohol"), "effectivePeriod": {"start": "2020-01-01"}});
    let summary = Person::new()
        .with(smoking("a", met))
        .with(smoking("b", period))
        .summary();
    let named = |name: &str| summary.get(name).unwrap()["meta"]["profile"].clone();
    assert_eq!(
        named("Observation/a"),
        json!(["http://x/other", format!("{IPS}Observation-tobaccouse-uv-ips")])
    );
    assert_eq!(named("Observation/b"), json!(["http://x/other"]));
}

#[test]
fn a_pdf_is_a_document_of_its_own() {
    let mut person = Person::new();
    assert!(person.summary().of("DocumentReference").is_empty());
    person.rendering = Some(Rendering {
        pdf: b"%PDF-1.7".to_vec(),
        title: "Summary of Jane Roe".to_owned(),
    });
    let summary = person.summary();
    let document = summary.of("DocumentReference")[0];
    assert_eq!(document["status"], "current");
    assert_eq!(document["type"]["coding"][0]["code"], "60591-5");
    let attachment = &document["content"][0]["attachment"];
    assert_eq!(attachment["contentType"], "application/pdf");
    assert_eq!(attachment["data"], "JVBERi0xLjc=");
    assert_eq!(attachment["size"], 8);
    assert_eq!(
        document["context"]["related"][0]["reference"],
        summary.0["entry"][0]["fullUrl"]
    );
}

#[test]
fn a_summary_without_its_patient_is_an_error() {
    let request = Request {
        base_url: BASE,
        moment: MOMENT,
        patients: &["p"],
        sections: Sections::ALL,
        directory: &(),
    };
    assert_eq!(summarize(&request, &[]).unwrap_err(), SummaryError::NoPatient);
}

#[test]
fn a_record_that_cannot_be_read_is_named_by_its_type_only() {
    let record = tabularium::patient::summary::Record {
        resource_type: tabularium::fhir::facts().lookup("Condition").unwrap(),
        id: "secret",
        text: r#"{"code": "secret"#,
        is_own: true,
    };
    let request = Request {
        base_url: BASE,
        moment: MOMENT,
        patients: &["p"],
        sections: Sections::ALL,
        directory: &(),
    };
    let error = summarize(&request, &[record]).unwrap_err();
    assert!(error.to_string().starts_with("a stored Condition cannot be read"));
    assert!(!error.to_string().contains("secret"));
}

/// An advance directive's address was relative to the service, which is useless to a recipient of the document.
#[test]
fn addresses_of_attachments_are_absolute() {
    let id = "01234567-89ab-8def-8123-456789abcdef";
    let more = json!({
        "status": "current", "type": loinc("42348-3", "Directive"), "date": "2019-01-01T00:00:00Z",
        "content": [{"attachment": {"contentType": "application/pdf", "url": format!("Binary/{id}")}}],
    });
    let summary = Person::new().with(record("DocumentReference", "d", more)).summary();
    let document = summary.of("DocumentReference")[0];
    assert_eq!(
        document["content"][0]["attachment"]["url"],
        format!("{BASE}/fhir/Binary/{id}")
    );
}
