//! All knobs, and the facts that tests read.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use super::{BACK, EVERYTHING, connected, exchange, text};
use crate::harness::payer::{Payer, parameter};
use tabularium::sandbox::payer::CLIENT_ID;

/// A sandbox, and a token of its first person at Lakeshore.
fn payer() -> (Payer, String) {
    let payer = Payer::start(2);
    let tokens = connected(&payer, "lakeshore", &payer.person(0).user);
    let token = text(&tokens["access_token"]).to_owned();
    (payer, token)
}

const CLAIMS: &str = "/lakeshore/fhir/ExplanationOfBenefit?_count=2";

#[test]
fn slow_answers_take_their_time() {
    let (payer, token) = payer();
    payer.turn("lakeshore", &json!({"slow": 80}));
    let started = Instant::now();
    assert_eq!(payer.get(CLAIMS, Some(&token)).status, 200);
    assert!(started.elapsed() >= Duration::from_millis(80));
}

#[test]
fn every_nth_request_is_throttled() {
    let (payer, token) = payer();
    payer.json("DELETE", "/admin/lakeshore/requests", &Value::Null);
    payer.turn("lakeshore", &json!({"throttle_every": 3, "retry_after": 7}));
    let replies: Vec<_> = (0..6).map(|_| payer.get(CLAIMS, Some(&token))).collect();
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [200, 200, 429, 200, 200, 429]);
    assert_eq!(replies[2].headers.get("retry-after").unwrap(), "7");
    assert_eq!(text(&replies[2].value()["issue"][0]["code"]), "throttled");
}

#[test]
fn every_nth_request_fails() {
    let (payer, token) = payer();
    payer.json("DELETE", "/admin/lakeshore/requests", &Value::Null);
    payer.turn("all", &json!({"fail_every": 2, "fail_status": 502}));
    let statuses: Vec<u16> = (0..4).map(|_| payer.get(CLAIMS, Some(&token)).status).collect();
    assert_eq!(statuses, [200, 502, 200, 502]);
    assert_eq!(payer.requests("lakeshore")["fhir"], 4);
    payer.json("DELETE", "/admin/lakeshore/knobs", &Value::Null);
    assert!((0..3).all(|_| payer.get(CLAIMS, Some(&token)).status == 200));
}

#[test]
fn tokens_end_at_once_or_when_told() {
    let (payer, token) = payer();
    payer.expire("lakeshore");
    assert_eq!(payer.get(CLAIMS, Some(&token)).status, 401);
    payer.turn("lakeshore", &json!({"token_seconds": 0}));
    let tokens = connected(&payer, "lakeshore", &payer.person(0).user);
    assert_eq!(tokens["expires_in"], 0);
    assert_eq!(payer.get(CLAIMS, tokens["access_token"].as_str()).status, 401);
    // A refresh gives a valid token.
    payer.turn("lakeshore", &json!({"token_seconds": 60}));
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&tokens["refresh_token"])),
        ("client_id", CLIENT_ID),
    ];
    let tokens = payer.form("/lakeshore/token", &form).value();
    assert_eq!(payer.get(CLAIMS, tokens["access_token"].as_str()).status, 200);
}

#[test]
fn consent_is_refused_whatever_the_person_says() {
    let (payer, _) = payer();
    payer.turn("lakeshore", &json!({"refuse_consent": true}));
    let (url, _) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
    let back = payer.log_in(&url, &payer.person(0).user);
    assert_eq!(parameter(&back, "error").unwrap(), "access_denied");
    payer.turn(
        "lakeshore",
        &json!({"refuse_consent": false, "consent_error": "server_error"}),
    );
    let (url, _) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
    let back = payer.log_in(&url, &payer.person(0).user);
    assert_eq!(parameter(&back, "error").unwrap(), "server_error");
    assert_eq!(parameter(&back, "state").unwrap(), "state of the test");
}

#[test]
fn there_are_no_records() {
    let (payer, token) = payer();
    payer.turn("lakeshore", &json!({"no_records": true}));
    for resource_type in ["Patient", "Coverage", "Organization"] {
        let bundle = payer
            .get(&format!("/lakeshore/fhir/{resource_type}"), Some(&token))
            .value();
        assert_eq!((&bundle["total"], &bundle["entry"]), (&json!(0), &Value::Null));
    }
    let path = format!("/lakeshore/fhir/Patient/{}", payer.person(0).patient);
    assert_eq!(payer.get(&path, Some(&token)).status, 404);
}

#[test]
fn an_organization_can_be_made_refreshable_or_not() {
    let (payer, _) = payer();
    let user = payer.person(0).user;
    payer.turn("lakeshore", &json!({"refreshable": false}));
    payer.turn("hilltop", &json!({"refreshable": true}));
    assert!(connected(&payer, "lakeshore", &user)["refresh_token"].is_null());
    assert!(connected(&payer, "hilltop", &user)["refresh_token"].is_string());
}

#[test]
fn a_refresh_token_may_be_promised_and_not_given() {
    let (payer, _) = payer();
    payer.turn("lakeshore", &json!({"no_refresh_token": true}));
    let smart = payer.get(&payer.smart("lakeshore"), None).text;
    assert!(smart.contains("permission-offline"), "{smart}");
    let tokens = connected(&payer, "lakeshore", &payer.person(0).user);
    assert!(text(&tokens["scope"]).contains("offline_access"), "{tokens}");
    assert!(tokens["refresh_token"].is_null(), "{tokens}");
}

#[test]
fn a_failure_says_what_a_test_wants() {
    let (payer, token) = payer();
    let outcome =
        json!({"resourceType": "OperationOutcome", "issue": [{"code": "login", "diagnostics": "not {token}"}]});
    payer.turn(
        "lakeshore",
        &json!({"fail_every": 1, "fail_status": 403, "fail_outcome": outcome}),
    );
    let reply = payer.get(CLAIMS, Some(&token));
    assert_eq!(reply.status, 403);
    assert_eq!(text(&reply.value()["issue"][0]["diagnostics"]), format!("not {token}"));
}

#[test]
fn the_token_endpoint_fails_and_refreshes_are_refused() {
    let (payer, _) = payer();
    let user = payer.person(0).user;
    let tokens = connected(&payer, "lakeshore", &user);
    payer.turn("lakeshore", &json!({"refuse_refresh": true}));
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", text(&tokens["refresh_token"])),
        ("client_id", CLIENT_ID),
    ];
    let refused = payer.form("/lakeshore/token", &form);
    assert_eq!(
        (refused.status, text(&refused.value()["error"])),
        (400, "invalid_grant")
    );
    payer.turn("lakeshore", &json!({"fail_token": true}));
    let (url, verifier) = payer.authorization_url("lakeshore", BACK, EVERYTHING);
    let code = parameter(&payer.log_in(&url, &user), "code").unwrap();
    assert_eq!(payer.form("/lakeshore/token", &exchange(&code, &verifier)).status, 500);
    // The code was not used, so it is valid once the endpoint works again.
    payer.turn("lakeshore", &json!({"fail_token": false}));
    assert_eq!(payer.form("/lakeshore/token", &exchange(&code, &verifier)).status, 200);
}

#[test]
fn pages_are_malformed_in_the_way_that_is_asked_for() {
    let (payer, token) = payer();
    let page = |malformed: &str| {
        payer.turn("lakeshore", &json!({"malformed_every": 1, "malformed": malformed}));
        payer.get(CLAIMS, Some(&token))
    };
    let next = |bundle: &Value| -> Url {
        let links = bundle["link"].as_array().unwrap();
        let link = links.iter().find(|link| link["relation"] == "next").unwrap();
        Url::parse(text(&link["url"])).unwrap()
    };
    let truncated = page("truncated");
    assert!(truncated.status == 200 && serde_json::from_str::<Value>(&truncated.text).is_err());
    assert!(page("html").text.starts_with("<!DOCTYPE html>"));
    let looped = page("loop").value();
    assert_eq!(next(&looped).as_str(), text(&looped["link"][0]["url"]));
    assert_eq!(next(&page("foreign").value()).host_str(), Some("192.0.2.1"));
    assert!(page("entry").value()["entry"][0]["resource"]["resourceType"].is_null());
    payer.turn("lakeshore", &json!({"malformed_every": 0}));
    assert!(payer.get(CLAIMS, Some(&token)).value()["entry"][0]["resource"]["resourceType"].is_string());
}

#[test]
fn a_page_holds_as_many_as_it_is_turned_to() {
    let (payer, token) = payer();
    payer.turn("lakeshore", &json!({"page": 3}));
    let bundle = payer
        .get("/lakeshore/fhir/ExplanationOfBenefit?_count=1000", Some(&token))
        .value();
    assert_eq!(bundle["entry"].as_array().unwrap().len(), 3);
}

#[test]
fn types_are_withheld_from_the_grant() {
    let payer = Payer::with(1, &[r#"lakeshore.withhold=["Coverage"]"#]);
    let tokens = connected(&payer, "lakeshore", &payer.person(0).user);
    assert!(!text(&tokens["scope"]).contains("Coverage"));
    assert_eq!(
        payer
            .get("/lakeshore/fhir/Coverage", tokens["access_token"].as_str())
            .status,
        403
    );
}

#[test]
fn knobs_that_do_not_exist_are_refused() {
    let payer = Payer::start(1);
    for body in [json!({"fast": true}), json!({"slow": "very"}), json!([])] {
        assert_eq!(
            payer.json("PATCH", "/admin/lakeshore/knobs", &body).status,
            400,
            "{body}"
        );
    }
    assert_eq!(
        payer.json("PATCH", "/admin/nobody/knobs", &json!({"slow": 1})).status,
        404
    );
    assert_eq!(payer.get("/admin/lakeshore/knobs", None).value()["slow"], 0);
}

#[test]
fn what_a_test_changes_is_in_the_next_answer_of_that_organization() {
    let (payer, token) = payer();
    let person = payer.person(0);
    let record = payer.bump("lakeshore", &person.user, None);
    let path = format!("/lakeshore/fhir/{record}");
    let bumped = payer.get(&path, Some(&token)).value();
    assert_eq!(bumped["meta"]["versionId"], "2");
    assert_eq!(payer.bump("lakeshore", &person.user, Some(&record)), record);
    assert_eq!(payer.get(&path, Some(&token)).value()["meta"]["versionId"], "3");
    let other = connected(&payer, "hilltop", &person.user);
    let untouched = payer
        .get(&format!("/hilltop/fhir/{record}"), other["access_token"].as_str())
        .value();
    assert_eq!(untouched["meta"]["versionId"], Value::Null);

    let new = json!({
        "resourceType": "Coverage", "id": "new-one", "status": "active",
        "beneficiary": {"reference": format!("Patient/{}", person.patient)},
    });
    payer.put("lakeshore", &person.user, &new);
    assert_eq!(payer.get("/lakeshore/fhir/Coverage/new-one", Some(&token)).value(), new);
    let body = json!({"patient": person.patient, "record": "Coverage/new-one"});
    assert_eq!(payer.json("DELETE", "/admin/lakeshore/records", &body).status, 200);
    assert_eq!(payer.get("/lakeshore/fhir/Coverage/new-one", Some(&token)).status, 404);
}

#[test]
fn logins_and_organizations_are_listed() {
    let payer = Payer::start(30);
    let listed = payer.get("/admin/logins?from=28&count=9", None).value();
    assert_eq!(
        (&listed["count"], listed["logins"].as_array().unwrap().len()),
        (&json!(30), 2)
    );
    let person = payer.person(28);
    assert_eq!(listed["logins"][0]["user"], person.user);
    assert_eq!(listed["logins"][0]["birthDate"], person.birth_date);
    assert_eq!(listed["logins"][0]["password"], "sandbox");
    let organizations = payer.get("/admin", None).value();
    let organizations = organizations["organizations"].as_array().unwrap();
    let kinds: Vec<&str> = organizations.iter().map(|one| text(&one["kind"])).collect();
    assert_eq!(
        kinds,
        [
            "payer", "payer", "payer", "provider", "portal", "facility", "facility", "facility"
        ]
    );
    for one in organizations {
        assert_eq!(payer.get(text(&one["smartConfiguration"]), None).status, 200);
    }
}
