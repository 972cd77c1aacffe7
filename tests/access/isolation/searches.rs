//! Searches and reads.

use std::collections::BTreeSet;

use super::family::{entries, family, ids, visible};
use crate::harness::server::{Answer, Server};

#[test]
fn searches_show_a_person_their_own_rows_and_what_those_refer_to() {
    let server = Server::imported(&family());
    for id in ["ann", "ben"] {
        let token = server.patient_token(id);
        for (resource_type, expected) in visible(id) {
            let all = entries(&server.get(&format!("/fhir/{resource_type}?_count=1000"), &token));
            assert_eq!(ids(&all), expected, "{id}: {resource_type}");
            let counted = server
                .get(&format!("/fhir/{resource_type}?_summary=count"), &token)
                .json();
            assert_eq!(counted["total"], expected.len(), "{id}: {resource_type}");
            let mut walked = Vec::new();
            let mut next = Some(format!("/fhir/{resource_type}?_count=1"));
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
            assert_eq!(walked, expected, "{id}: {resource_type} page by page");
        }
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
            .flat_map(|(resource_type, ids)| ids.into_iter().map(move |id| format!("{resource_type}/{id}")))
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
