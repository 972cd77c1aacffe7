//! Records after the end of their time, and sources without records: what applications are told.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tabularium::consent::{AuthorizationState, JobState, Usage};
use tabularium::lake::Mode;

use super::super::world::{Connected, World, text};
use crate::harness::server::Answer;

const DAY: i64 = 86_400;

/// The texts of an OperationOutcome's issues.
fn said(answer: &Answer) -> Vec<String> {
    let outcome = answer.json();
    let issues = outcome["issue"].as_array().unwrap().iter();
    issues.map(|issue| text(&issue["details"], "text").to_owned()).collect()
}

fn processing(answer: &Answer) {
    let code = &answer.json()["issue"][0]["code"];
    assert_eq!((answer.status, code), (422, &json!("processing")), "{}", answer.text);
}

fn introspected(world: &World, tokens: &Value) -> Value {
    let answer = world.get("/oauth/introspect", text(tokens, "access_token"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

#[test]
fn records_that_are_over_are_not_empty() {
    // A token refreshed after the day got 200 and empty Bundles, which means "no allergies" to a reader.
    let world = World::working(1);
    let connected = world.authorize("hilltop", 0, Usage::OneTime);
    let first = world.tokens(&connected);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    let before = introspected(&world, &first);
    assert_eq!(
        (&before["active"], &before["state"]),
        (&json!(true), &json!("EXCHANGED"))
    );
    assert_eq!(before["sync"]["state"], "COMPLETED");

    world.store().clock().advance(DAY);
    let second = world.refresh("/oauth/token", &first).json();
    for path in [
        "/fhir/AllergyIntolerance",
        "/fhir/Patient/$PATIENT_ID",
        "/fhir/Coverage?patient=$PATIENT_ID",
        "/fhir/Patient/$PATIENT_ID/$everything",
        "/fhir/Patient/$PATIENT_ID/$summary",
    ] {
        let answer = world.get(path, text(&second, "access_token"));
        processing(&answer);
        assert!(said(&answer)[0].contains("authorize again"), "{}", answer.text);
    }
    let after = introspected(&world, &second);
    assert_eq!((&after["active"], &after["state"]), (&json!(false), &json!("EXPIRED")));
    assert_eq!(after["sync"]["state"], "COMPLETED", "{after}");
    assert!(after["sync"]["lastSyncedAt"].is_number());
    let shown = world.get("/rest/consent", text(&second, "access_token")).json();
    let one = &shown["patientAuthorizations"][0];
    assert_eq!((&one["active"], &one["state"]), (&json!(false), &json!("EXPIRED")));
    assert!(one["expiredAt"].is_string(), "{one}");
    assert_eq!(one["sync"]["state"], "COMPLETED", "{one}");
    // The access to the one-day source has ended.
    world.until("the end of the day", || {
        world
            .store()
            .credentials()
            .get(&connected.authorization)
            .unwrap()
            .is_none()
    });
}

/// A consent with a one-day source and a permanent one.
fn both(world: &World) -> (Connected, Connected, Value) {
    let once = world.authorize("hilltop", 0, Usage::Multiple);
    let lasting = world.add_source(&once.consent, "lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&once);
    for connected in [&once, &lasting] {
        assert_eq!(world.end_of(connected), JobState::Completed);
    }
    (once, lasting, tokens)
}

#[test]
fn of_several_sources_the_primary_patient_is_one_whose_records_are_here() {
    // The response still named the deleted Patient.
    let world = World::working(1);
    let (once, lasting, first) = both(&world);
    assert_eq!(first["patient"], *once.patient);
    let patient = |tokens: &Value| world.get("/fhir/Patient/$PATIENT_ID", text(tokens, "access_token"));
    assert_eq!(patient(&first).json()["id"], *once.patient);
    let patients = |tokens: &Value| {
        let path = "/fhir/Patient/$PATIENT_ID/$everything?_type=Patient";
        let bundle = world.get(path, text(tokens, "access_token")).json();
        let entries = bundle["entry"].as_array().unwrap().iter();
        let ids = entries.map(|entry| text(&entry["resource"], "id").to_owned());
        ids.collect::<BTreeSet<_>>()
    };
    let all = BTreeSet::from([once.patient.clone(), lasting.patient.clone()]);
    assert_eq!(patients(&first), all, "the wildcard is all Patients of the consent");
    // An older token names the first Patient until it expires.
    world.store().clock().advance(DAY - 60);
    let second = world.refresh("/oauth/token", &first).json();
    assert_eq!(second["patient"], *once.patient);
    world.store().clock().advance(60);
    world.until("the erasure", || {
        let gone = world
            .store()
            .authorizations()
            .get(&once.authorization)
            .unwrap()
            .unwrap();
        gone.data_erased_at.is_some() && world.store().erasures().open(0, 1).unwrap().is_empty()
    });
    for tokens in [&second, &world.refresh("/oauth/token", &second).json()] {
        assert_eq!(patient(tokens).json()["id"], *lasting.patient);
        let token = text(tokens, "access_token");
        assert_eq!(world.get(&format!("/fhir/Patient/{}", once.patient), token).status, 404);
        let everything = format!("/fhir/Patient/{}/$everything", once.patient);
        assert_eq!(world.get(&everything, token).status, 404);
        assert_eq!(patients(tokens), BTreeSet::from([lasting.patient.clone()]));
        let found = world.get("/fhir/Patient?_id=$PATIENT_ID&_summary=count", token).json();
        assert_eq!(found["total"], 1);
        let told = introspected(&world, tokens);
        assert_eq!((&told["active"], &told["state"]), (&json!(true), &json!("EXCHANGED")));
        assert_eq!(told["patient"], format!("Patient/{}", lasting.patient));
        assert_eq!(
            (&told["endpoint"]["id"], &told["usage"]),
            (&json!("lakeshore"), &json!("MULTIPLE"))
        );
        assert_eq!(told["sync"]["state"], "COMPLETED");
    }
    let third = world.refresh(
        "/oauth/token",
        &world.tokens(&world.authorize("lakeshore", 0, Usage::Multiple)),
    );
    assert_eq!(third.status, 200, "another consent is not concerned");
}

#[test]
fn the_tokens_of_a_consent_name_the_patient_who_is_primary_when_they_are_made() {
    let world = World::working(1);
    let (_once, lasting, first) = both(&world);
    world.store().clock().advance(DAY);
    world.store().sweep().unwrap();
    let second = world.refresh("/link/token", &first).json();
    assert_eq!(second["patient"], *lasting.patient);
    let connected = world.connected(&second);
    let claims = introspected(&world, &second);
    assert_eq!(claims["patient"], format!("Patient/{}", lasting.patient));
    assert_eq!(connected.consent, lasting.consent);
    assert_eq!(world.get("/fhir/Patient", text(&second, "access_token")).status, 200);
}

#[test]
fn a_consent_whose_only_source_with_records_was_revoked_is_not_empty() {
    let world = World::working(1);
    let connected = world.synced("lakeshore", 0);
    let failed = world.add_source(&connected.consent, "hilltop", 0, Usage::OneTime);
    // The second source failed during the flow.
    world.sql(
        "UPDATE patient_authorization SET state = 'ERRORED' WHERE id = ?1",
        &failed.authorization,
    );
    // Another link of the same user to the first source is revoked, and with it all links to that source.
    let other = world.synced("lakeshore", 0);
    world.store().revoke_links(&other.consent).unwrap();
    let consent = world.store().consents().get(&connected.consent).unwrap().unwrap();
    assert_eq!(consent.state.name(), "EXCHANGED");
    processing(&world.get("/fhir/Patient", &connected.token));
}

#[test]
fn one_failed_source_of_several_is_told() {
    // The consent's overall state was COMPLETED.
    let world = World::new(1, Mode::Live);
    let good = world.authorize("hilltop", 0, Usage::OneTime);
    let bad = world.add_source(&good.consent, "lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&good);
    world.payer.turn("lakeshore", &json!({"no_records": true}));
    world.work();
    assert_eq!(world.end_of(&good), JobState::Completed);
    assert_eq!(world.end_of(&bad), JobState::Failed);
    let told = introspected(&world, &tokens);
    assert_eq!(
        (&told["active"], &told["sync"]["state"]),
        (&json!(true), &json!("FAILED"))
    );
    assert!(told["sync"]["lastSyncedAt"].is_number());
    assert_eq!(world.get("/fhir/Patient", text(&tokens, "access_token")).status, 200);
}

#[test]
fn an_authorization_in_error_is_tried_again_while_access_is_good() {
    let world = World::new(1, Mode::Live);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    let first = world.tokens(&connected);
    world
        .payer
        .turn("lakeshore", &json!({"fail_every": 1, "fail_status": 403}));
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    let authorization = || {
        world
            .store()
            .authorizations()
            .get(&connected.authorization)
            .unwrap()
            .unwrap()
    };
    let exchanged_at = authorization().exchanged_at;
    assert_eq!(authorization().state, AuthorizationState::Errored);
    let answer = world.get("/fhir/Patient", text(&first, "access_token"));
    assert_eq!(
        (answer.status, answer.issue().as_str()),
        (403, "exception"),
        "the source's own"
    );
    // A refresh without a sync changes nothing.
    let second = world.refresh("/oauth/token", &first).json();
    assert_eq!(authorization().state, AuthorizationState::Errored);

    world.payer.turn("lakeshore", &json!({"fail_every": 0}));
    world.store().clock().advance(60);
    let third = world.refresh("/link/token", &second);
    assert_eq!(third.status, 200, "{}", third.text);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    assert_eq!(
        world
            .store()
            .jobs()
            .of_authorization(&connected.authorization)
            .unwrap()
            .len(),
        2
    );
    assert_eq!(authorization().state, AuthorizationState::Exchanged);
    assert_eq!(authorization().exchanged_at, exchanged_at);
    let token = third.json();
    assert_eq!(world.get("/fhir/Patient", text(&token, "access_token")).status, 200);
}

#[test]
fn an_authorization_in_error_whose_access_has_ended_is_not_tried_again() {
    let world = World::new(1, Mode::Live);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&connected);
    world.payer.turn("lakeshore", &json!({"refuse_refresh": true}));
    world.payer.expire("lakeshore");
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    assert_eq!(world.store().credentials().get(&connected.authorization).unwrap(), None);
    for _ in 0..2 {
        // The refused refresh does not use the token up.
        let refused = world.refresh("/link/token", &tokens);
        assert_eq!(refused.oauth_error(), (422, "invalid_grant".to_owned()));
        assert!(text(&refused.json(), "error_description").contains("authorize again"));
    }
    assert_eq!(world.refresh("/oauth/token", &tokens).status, 200);
    assert_eq!(
        world
            .store()
            .jobs()
            .of_authorization(&connected.authorization)
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn access_of_an_authorization_in_error_goes_when_nobody_may_try_again() {
    let world = World::new(2, Mode::Live);
    let once = world.authorize("hilltop", 0, Usage::OneTime);
    let lasting = world.authorize("lakeshore", 1, Usage::Multiple);
    let tokens = world.tokens(&lasting);
    world.tokens(&once);
    world.payer.turn("all", &json!({"fail_every": 1, "fail_status": 403}));
    world.work();
    for connected in [&once, &lasting] {
        assert_eq!(world.end_of(connected), JobState::Failed);
    }
    world.rest();
    let has_access = |connected: &Connected| {
        world
            .store()
            .credentials()
            .get(&connected.authorization)
            .unwrap()
            .is_some()
    };
    assert!(has_access(&once) && has_access(&lasting));
    assert!(kept(&world, &once).is_some() && kept(&world, &lasting).is_some());
    world.store().clock().advance(DAY);
    world.store().sweep().unwrap();
    assert!(!has_access(&once) && has_access(&lasting));
    world.store().clock().advance(90 * DAY);
    world.store().sweep().unwrap();
    assert!(!has_access(&lasting));
    assert_eq!((kept(&world, &once), kept(&world, &lasting)), (None, None));
    assert_eq!(world.refresh("/link/token", &tokens).status, 400);
}

/// A payer's refusal that contains the request's token.
fn refusal() -> Value {
    json!({"fail_every": 1, "fail_status": 403, "fail_outcome": {
        "resourceType": "OperationOutcome",
        "text": {"status": "generated", "div": "<div>narrative</div>"},
        "issue": [{
            "severity": "error",
            "code": "forbidden",
            "details": {"coding": [{"system": "urn:lakeshore:errors", "code": "E17"}], "text": "The plan ended in March"},
            "diagnostics": "asked with {token} just now",
        }],
    }})
}

/// The stored messages of an authorization's first job.
fn kept(world: &World, connected: &Connected) -> Option<Vec<u8>> {
    let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    let sql = "SELECT outcome FROM sync_job WHERE authorization = ?1 ORDER BY rowid LIMIT 1";
    store
        .query_row(sql, [&connected.authorization], |row| row.get(0))
        .unwrap()
}

#[test]
fn what_a_source_says_of_a_first_sync_reaches_the_application() {
    let world = World::new(2, Mode::Live);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&connected);
    world.payer.turn("lakeshore", &refusal());
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    for path in ["/fhir/Patient/$PATIENT_ID", "/fhir/AllergyIntolerance"] {
        let answer = world.get(path, text(&tokens, "access_token"));
        assert_eq!(answer.status, 403, "{}", answer.text);
        let outcome = answer.json();
        let issues = outcome["issue"].as_array().unwrap();
        assert_eq!(issues.len(), 1, "{}", answer.text);
        assert_eq!(
            issues[0],
            json!({
                "severity": "error", "code": "forbidden", "diagnostics": "asked with … just now",
                "details": {"coding": [{"system": "urn:lakeshore:errors", "code": "E17"}], "text": "The plan ended in March"},
            })
        );
        assert!(!answer.text.contains(&connected.source_token) && !answer.text.contains("narrative"));
    }
    // The messages are encrypted, and the audit log does not contain them.
    let sealed = kept(&world, &connected).unwrap();
    assert!(memchr::memmem::find(&sealed, b"March").is_none());
    let audit = world.audit(&connected).join("\n");
    assert!(!audit.contains("March") && !audit.contains("E17"), "{audit}");
    // Another person's token does not see the messages.
    let other = world.authorize("cedarway", 1, Usage::Multiple);
    let others = world.tokens(&other);
    assert_eq!(world.end_of(&other), JobState::Completed);
    assert_eq!(world.get("/fhir/Patient", text(&others, "access_token")).status, 200);

    // The messages are removed once records arrive.
    world.payer.turn("lakeshore", &json!({"fail_every": 0}));
    assert_eq!(world.refresh("/link/token", &tokens).status, 200);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    assert_eq!(kept(&world, &connected), None);
}

/// The status of the source came as 422 in every case, and the issues of the source after ours.
#[test]
fn the_status_of_a_source_is_passed_on_unless_it_speaks_of_the_caller() {
    let world = World::new(1, Mode::Live);
    world.work();
    for (status, expected) in [
        (400, 400),
        (403, 403),
        (404, 404),
        (409, 409),
        (410, 410),
        (422, 422),
        (401, 422),
        (451, 422),
    ] {
        world.payer.turn("all", &json!({"fail_every": 0}));
        let connected = world.authorize("lakeshore", 0, Usage::Multiple);
        let mut failing = refusal();
        failing["fail_status"] = json!(status);
        world.payer.turn("all", &failing);
        let tokens = world.tokens(&connected);
        assert_eq!(world.end_of(&connected), JobState::Failed);
        let answer = world.get("/fhir/Patient", text(&tokens, "access_token"));
        assert_eq!(answer.status, expected, "{status}: {}", answer.text);
        assert_eq!(said(&answer), ["The plan ended in March"], "{status}");
        assert_eq!(answer.header("www-authenticate"), "", "{status}");
    }
}

#[test]
fn an_outcome_of_a_source_without_an_error_is_followed_by_ours() {
    let world = World::new(1, Mode::Live);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    let mut failing = refusal();
    failing["fail_outcome"]["issue"][0]["severity"] = json!("information");
    world.payer.turn("lakeshore", &failing);
    let tokens = world.tokens(&connected);
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    let answer = world.get("/fhir/Patient", text(&tokens, "access_token"));
    assert_eq!(answer.status, 403, "{}", answer.text);
    let told = said(&answer);
    assert_eq!(told[0], "The plan ended in March");
    assert!(told[1].contains("authorize again") && told.len() == 2, "{told:?}");
}

#[test]
fn a_source_that_says_nothing_gets_our_words() {
    let world = World::new(1, Mode::Live);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    world.payer.turn(
        "lakeshore",
        &json!({"fail_every": 1, "fail_status": 403, "fail_outcome": {"error": "no"}}),
    );
    let tokens = world.tokens(&connected);
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    let answer = world.get("/fhir/Patient", text(&tokens, "access_token"));
    processing(&answer);
    assert_eq!(said(&answer).len(), 1, "{}", answer.text);
}

#[test]
fn what_a_source_said_goes_with_the_consent() {
    let world = World::new(1, Mode::Live);
    let connected = world.connect("lakeshore", 0);
    world.payer.turn("lakeshore", &refusal());
    world.work();
    assert_eq!(world.end_of(&connected), JobState::Failed);
    assert!(kept(&world, &connected).is_some());
    let actor = tabularium::consent::Actor::Application;
    world.store().consents().revoke(&connected.consent, actor).unwrap();
    assert_eq!(kept(&world, &connected), None);
}

#[test]
fn a_source_that_wants_a_long_rest_is_asked_again_within_the_hour() {
    // A first sync waited for a day, but the application had to retry after three seconds.
    let world = World::new(1, Mode::Live);
    let connected = world.authorize("lakeshore", 0, Usage::Multiple);
    let tokens = world.tokens(&connected);
    let huge = u64::MAX;
    world
        .payer
        .turn("lakeshore", &json!({"throttle_every": 1, "retry_after": huge}));
    world.work();
    let job = || {
        world
            .store()
            .jobs()
            .of_authorization(&connected.authorization)
            .unwrap()
            .remove(0)
    };
    world.until("the first attempt", || job().not_before.is_some());
    let now = world.store().clock().now();
    assert_eq!((job().state, job().not_before), (JobState::Waiting, Some(now + 3_600)));
    assert_eq!(introspected(&world, &tokens)["sync"]["state"], "WAITING");
    world.store().clock().advance(600);
    let answer = world.get("/fhir/Patient", text(&tokens, "access_token"));
    assert_eq!((answer.status, answer.issue().as_str()), (429, "transient"));
    assert_eq!(
        (answer.header("retry-after"), answer.header("x-retry-after")),
        ("3000", "3000")
    );
    let audit = world.audit(&connected);
    let told = audit.iter().find(|line| line.starts_with("sync.put-off")).unwrap();
    assert!(told.contains("tried again in 3600 s"), "{told}");
    assert!(told.contains("asks to be left alone for"), "{told}");

    world.payer.turn("lakeshore", &json!({"throttle_every": 0}));
    world.store().clock().advance(3_000);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    assert_eq!(world.get("/fhir/Patient", text(&tokens, "access_token")).status, 200);
}
