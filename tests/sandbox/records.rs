//! The FHIR API of an organization: reads, searches with pages, `$everything`, and isolation between people.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{connected, text};
use crate::harness::payer::{Payer, Reply};

/// All resources of a search, page by page, and the number of pages.
fn walked(payer: &Payer, path: &str, token: &str) -> (Vec<Value>, usize) {
    let mut found = Vec::new();
    let mut next = Some(path.to_owned());
    let mut pages = 0;
    while let Some(url) = next {
        let reply = payer.get(&url, Some(token));
        assert_eq!(reply.status, 200, "{}", reply.text);
        let bundle = reply.value();
        pages += 1;
        let entries = bundle["entry"].as_array().into_iter().flatten();
        found.extend(entries.map(|entry| entry["resource"].clone()));
        let mut links = bundle["link"].as_array().unwrap().iter();
        next = links
            .find(|link| link["relation"] == "next")
            .map(|link| text(&link["url"]).to_owned());
    }
    (found, pages)
}

fn code(reply: &Reply) -> (u16, String) {
    let outcome = reply.value();
    assert_eq!(outcome["resourceType"], "OperationOutcome");
    (reply.status, text(&outcome["issue"][0]["code"]).to_owned())
}

#[test]
fn pages_together_hold_every_match_once() {
    let payer = Payer::start(2);
    let person = payer.person(1);
    let tokens = connected(&payer, "riverbend", &person.user);
    let token = text(&tokens["access_token"]);
    let path = format!(
        "/riverbend/fhir/Observation?patient=Patient/{}&_count=7",
        person.patient
    );
    let first = payer.get(&path, Some(token)).value();
    let total = first["total"].as_u64().unwrap();
    let (found, pages) = walked(&payer, &path, token);
    let ids: BTreeSet<&str> = found.iter().map(|resource| text(&resource["id"])).collect();
    assert_eq!((ids.len() as u64, found.len() as u64), (total, total));
    assert_eq!(pages as u64, total.div_ceil(7));
    assert!(
        found
            .iter()
            .all(|one| one["subject"]["reference"] == format!("Patient/{}", person.patient))
    );
    assert_eq!(first["entry"][0]["search"]["mode"], "match");
    let full = format!(
        "{}/Observation/{}",
        payer.fhir_base("riverbend"),
        text(&first["entry"][0]["resource"]["id"])
    );
    assert_eq!(text(&first["entry"][0]["fullUrl"]), full);
}

#[test]
fn everything_is_what_searches_by_type_find() {
    let payer = Payer::start(1);
    let person = payer.person(0);
    for organization in ["lakeshore", "hilltop", "riverbend"] {
        let tokens = connected(&payer, organization, &person.user);
        let token = text(&tokens["access_token"]);
        let path = format!("/{organization}/fhir/Patient/{}/$everything", person.patient);
        let (everything, pages) = walked(&payer, &path, token);
        assert!(pages > 1);
        let reference = |one: &Value| format!("{}/{}", text(&one["resourceType"]), text(&one["id"]));
        let everything: BTreeSet<String> = everything.iter().map(reference).collect();
        let statement = payer.get(&format!("/{organization}/fhir/metadata"), None).value();
        let mut each = BTreeSet::new();
        for resource in statement["rest"][0]["resource"].as_array().unwrap() {
            let path = format!("/{organization}/fhir/{}", text(&resource["type"]));
            each.extend(walked(&payer, &path, token).0.iter().map(reference));
        }
        assert_eq!(everything, each);
        let (typed, _) = walked(&payer, &format!("{path}?_type=Patient,Encounter"), token);
        assert!(
            typed
                .iter()
                .all(|one| one["resourceType"] == "Patient" || one["resourceType"] == "Encounter")
        );
    }
}

#[test]
fn organizations_hold_different_things_of_the_same_person() {
    let payer = Payer::start(1);
    let person = payer.person(0);
    let types = |organization: &str| -> BTreeSet<String> {
        let tokens = connected(&payer, organization, &person.user);
        let path = format!("/{organization}/fhir/Patient/{}/$everything", person.patient);
        let (all, _) = walked(&payer, &path, text(&tokens["access_token"]));
        all.iter().map(|one| text(&one["resourceType"]).to_owned()).collect()
    };
    let (payer_types, provider_types) = (types("lakeshore"), types("riverbend"));
    assert!(payer_types.contains("ExplanationOfBenefit") && !payer_types.contains("Observation"));
    assert!(provider_types.contains("Observation") && !provider_types.contains("ExplanationOfBenefit"));
    assert!(payer_types.contains("Organization") && provider_types.contains("Practitioner"));
}

#[test]
fn another_patients_records_are_out_of_reach() {
    let payer = Payer::start(4);
    let (own, other) = (payer.person(1), payer.person(2));
    let tokens = connected(&payer, "riverbend", &own.user);
    let token = text(&tokens["access_token"]);
    let others = connected(&payer, "riverbend", &other.user);
    let path = format!("/riverbend/fhir/Patient/{}/$everything", other.patient);
    let (theirs, _) = walked(&payer, &path, text(&others["access_token"]));
    let mine: BTreeSet<String> = {
        let path = format!("/riverbend/fhir/Patient/{}/$everything", own.patient);
        walked(&payer, &path, token)
            .0
            .iter()
            .map(|one| text(&one["id"]).to_owned())
            .collect()
    };
    let shared = [
        "Location",
        "Medication",
        "Organization",
        "Practitioner",
        "PractitionerRole",
    ];
    let mut tried = 0;
    for resource in &theirs {
        let (resource_type, id) = (text(&resource["resourceType"]), text(&resource["id"]));
        if mine.contains(id) {
            assert!(shared.contains(&resource_type), "{resource_type}/{id} is held for both");
            continue;
        }
        assert_eq!(
            code(&payer.get(&format!("/riverbend/fhir/{resource_type}/{id}"), Some(token))),
            (404, "not-found".into())
        );
        let found = payer
            .get(&format!("/riverbend/fhir/{resource_type}?_id={id}"), Some(token))
            .value();
        assert_eq!(found["total"], 0, "{resource_type}/{id}");
        tried += 1;
    }
    assert!(tried > 50);
    for path in [
        "Observation?patient=",
        "Observation?subject=Patient/",
        "Encounter?patient=",
    ] {
        let reply = payer.get(&format!("/riverbend/fhir/{path}{}", other.patient), Some(token));
        assert_eq!(code(&reply), (403, "forbidden".into()));
    }
    assert_eq!(payer.get(&path, Some(token)).status, 404);
    // With another token, a next link shows that token's own records.
    let first = payer
        .get("/riverbend/fhir/Observation?_count=1", others["access_token"].as_str())
        .value();
    let next = first["link"]
        .as_array()
        .unwrap()
        .iter()
        .find(|link| link["relation"] == "next")
        .unwrap();
    let page = payer.get(text(&next["url"]), Some(token)).value();
    for entry in page["entry"].as_array().into_iter().flatten() {
        assert!(mine.contains(text(&entry["resource"]["id"])));
    }
    // A token of one organization is not valid at another.
    assert_eq!(
        code(&payer.get("/lakeshore/fhir/Coverage", Some(token))),
        (401, "login".into())
    );
}

#[test]
fn errors_are_operation_outcomes() {
    let payer = Payer::start(1);
    let tokens = connected(&payer, "lakeshore", &payer.person(0).user);
    let token = tokens["access_token"].as_str();
    for (path, token, status, issue) in [
        ("/lakeshore/fhir/Coverage", None, 401, "login"),
        ("/lakeshore/fhir/Coverage", Some("nonsense"), 401, "login"),
        ("/lakeshore/fhir/Coverage/none", token, 404, "not-found"),
        ("/lakeshore/fhir/Observation", token, 404, "not-supported"),
        ("/lakeshore/fhir/Coverage?_sort=x", token, 400, "not-supported"),
        ("/lakeshore/fhir/Coverage?_count=0", token, 400, "invalid"),
        ("/lakeshore/fhir/Coverage?_count=many", token, 400, "invalid"),
        ("/lakeshore/fhir/Coverage?_page=nonsense", token, 400, "invalid"),
        ("/lakeshore/fhir/Patient/x/$everything", token, 404, "not-found"),
        ("/lakeshore/fhir/Patient/x/$export", token, 404, "not-supported"),
        ("/nobody/fhir/Coverage", token, 404, "not-supported"),
        ("/identity/fhir/Patient", token, 404, "not-supported"),
        ("/nobody/fhir/metadata", None, 404, "not-found"),
    ] {
        assert_eq!(code(&payer.get(path, token)), (status, issue.to_owned()), "{path}");
    }
    let challenged = payer.get("/lakeshore/fhir/Coverage", Some("nonsense"));
    let challenge = challenged.headers.get("www-authenticate").unwrap();
    assert_eq!(challenge, r#"Bearer error="invalid_token""#);
}

#[test]
fn a_search_is_sent_by_post_too() {
    let payer = Payer::start(1);
    let tokens = connected(&payer, "lakeshore", &payer.person(0).user);
    let headers = [
        ("authorization", format!("Bearer {}", text(&tokens["access_token"]))),
        ("content-type", "application/x-www-form-urlencoded".to_owned()),
    ];
    let reply = payer.send("POST", "/lakeshore/fhir/Coverage/_search", &headers, "_count=1");
    assert_eq!(reply.value()["entry"].as_array().unwrap().len(), 1);
    let refused = payer.send("POST", "/lakeshore/fhir/Coverage/x", &headers, "_count=1");
    assert_eq!(code(&refused), (405, "not-supported".into()));
}

#[test]
fn an_organization_describes_itself() {
    let payer = Payer::start(1);
    let configuration = payer.get(&payer.smart("lakeshore"), None).value();
    let base = &payer.base;
    assert_eq!(
        text(&configuration["authorization_endpoint"]),
        format!("{base}/lakeshore/authorize")
    );
    assert_eq!(
        text(&configuration["token_endpoint"]),
        format!("{base}/lakeshore/token")
    );
    assert_eq!(
        configuration["code_challenge_methods_supported"],
        serde_json::json!(["S256"])
    );
    let statement = payer.get("/lakeshore/fhir/metadata", None).value();
    let uris = statement["rest"][0]["security"]["extension"][0]["extension"].to_string();
    assert!(uris.contains(&format!("{base}/lakeshore/token")), "{uris}");
    let facility = payer.get(&payer.smart("eastgate"), None).value();
    assert!(facility["authorization_endpoint"].is_null());
    assert!(facility["grant_types_supported"].to_string().contains("jwt-bearer"));
}

#[test]
fn fifty_people_are_served_at_once() {
    let payer = Payer::start(50);
    std::thread::scope(|scope| {
        let fetch = |index: u64| {
            let person = payer.person(index);
            let tokens = connected(&payer, "lakeshore", &person.user);
            let path = format!("/lakeshore/fhir/Patient/{}/$everything", person.patient);
            let (all, _) = walked(&payer, &path, text(&tokens["access_token"]));
            let patients: Vec<&Value> = all.iter().filter(|one| one["resourceType"] == "Patient").collect();
            assert_eq!(patients.len(), 1);
            assert_eq!(text(&patients[0]["id"]), person.patient);
            assert!(all.iter().any(|one| one["resourceType"] == "ExplanationOfBenefit"));
        };
        let threads: Vec<_> = (0..50).map(|index| scope.spawn(move || fetch(index))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}
