//! Each move of a consent, an authorization or a job tells its event, and nothing else tells one.

use serde_json::{Value, json};
use tabularium::consent::{Actor, DeliveryState, JobFailure, SourceOutcome};

use super::world::{World, accepting, body, event_type, messages, until};
use crate::harness::consented::{App, Flow, Keys};
use crate::harness::rogue::Asked;

const DAY: i64 = 86_400;

fn types(messages: &[Asked]) -> Vec<String> {
    messages.iter().map(event_type).collect()
}

#[test]
fn a_completed_sync_is_told_with_its_ids() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let finished = world.exchanged();
    let job = world.sync(&finished);
    let messages = messages(&receiver, 1);
    let expected = json!({
        "type": "sync_completed", "timestamp": "2027-01-15T08:00:00Z",
        "data": {
            "consentId": finished.consent, "mode": "TEST", "externalId": "user-1",
            "authorizationId": finished.authorizations[0], "endpointId": "endpoint-payer", "jobId": job,
            "cause": "exchange", "state": "COMPLETED", "missing": {},
        },
    });
    assert_eq!(body(&messages[0]), expected);
    assert_eq!(messages[0].method, "POST");
    assert_eq!(messages[0].header("content-type"), "application/json");
}

#[test]
fn a_sync_with_gaps_is_told_as_incomplete_after_its_completion() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let finished = world.exchanged();
    let job = world.sync_with_gaps(&finished);
    let messages = messages(&receiver, 2);
    assert_eq!(types(&messages), ["sync_completed", "sync_incomplete"]);
    for message in &messages {
        let data = &body(message)["data"];
        assert_eq!(data["missing"], json!({"failed": 2, "forbidden": 1}));
        assert_eq!((&data["jobId"], &data["state"]), (&json!(job), &json!("COMPLETED")));
        // Neither types nor reasons in words.
        assert!(!message.body.contains("Observation") && !message.body.contains("does not say why"));
    }
}

#[test]
fn a_failed_sync_is_told_without_the_sources_words() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let finished = world.exchanged();
    let job = world.begin_sync(&finished);
    assert!(world.store().jobs().put_back(&job, 0, "the source is busy").unwrap());
    assert_eq!(world.deliveries().len(), 0, "the job is not over");
    let job = world.begin_sync(&finished);
    let outcome = SourceOutcome {
        status: Some(500),
        issue: vec![json!({"diagnostics": "call 555-0100"})],
    };
    let failure = JobFailure {
        outcome: Some(&outcome),
        ..JobFailure::from("payer.example answered with status 500")
    };
    assert!(world.store().jobs().fail(&job, failure).unwrap());
    let messages = messages(&receiver, 1);
    let data = &body(&messages[0])["data"];
    assert_eq!(types(&messages), ["sync_failed"]);
    assert_eq!((&data["jobId"], &data["state"]), (&json!(job), &json!("FAILED")));
    assert!(!messages[0].body.contains("555-0100") && !messages[0].body.contains("payer.example"));
}

/// Revokes a consent while its sync runs, and erases its records.
#[test]
fn a_revocation_is_told_with_the_sync_that_it_stops_and_the_erasure() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let finished = world.exchanged();
    world.begin_sync(&finished);
    world.revoke(&finished);
    messages(&receiver, 2);
    erase(&world);
    let messages = messages(&receiver, 3);
    assert_eq!(types(&messages), ["consent_revoked", "sync_failed", "data_expunged"]);
    let places = json!([{"authorizationId": finished.authorizations[0], "endpointId": "endpoint-payer"}]);
    let expected = json!({"consentId": finished.consent, "mode": "TEST", "externalId": "user-1", "by": "application",
        "authorizations": places});
    assert_eq!(body(&messages[0])["data"], expected);
    let data = body(&messages[2])["data"].clone();
    assert_eq!(
        (&data["cause"], &data["authorizations"], &data["externalId"]),
        (&json!("revoke"), &places, &json!("user-1"))
    );
    let erased = world
        .store()
        .erasure_jobs()
        .get(data["jobId"].as_str().unwrap())
        .unwrap();
    assert_eq!(erased.unwrap().consent, Some(finished.consent));
}

/// Finishes all requested erasures. No record was stored, so there is nothing to erase in the lake.
fn erase(world: &World) {
    let store = world.store();
    let open = store.erasures().open(0, 100).unwrap();
    store.erasures().done(&open).unwrap();
    for job in store.erasure_jobs().unreceipted().unwrap() {
        store.erasure_jobs().keep_receipt(&job, "a.b.c").unwrap();
    }
}

#[test]
fn the_end_of_a_refresh_window_is_told_for_each_source() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let finished = world.exchanged();
    world.sync(&finished);
    messages(&receiver, 1);
    world.store().clock().advance(600);
    assert_eq!(world.store().sweep().unwrap().expired, 0);
    world.store().clock().advance(91 * DAY);
    assert_eq!(world.store().sweep().unwrap().expired, 1);
    erase(&world);
    let messages = messages(&receiver, 3);
    assert_eq!(types(&messages), ["sync_completed", "refresh_expired", "data_expunged"]);
    let expected = json!({"consentId": finished.consent, "mode": "TEST", "externalId": "user-1",
        "authorizationId": finished.authorizations[0], "endpointId": "endpoint-payer"});
    assert_eq!(body(&messages[1])["data"], expected);
    assert_eq!(body(&messages[2])["data"]["cause"], "expiry");
}

#[test]
fn one_time_records_are_told_when_they_are_gone() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let finished = world.exchanged_by(&Flow::once(&world.app));
    world.sync(&finished);
    for seconds in [600, DAY] {
        world.store().clock().advance(seconds);
        world.store().sweep().unwrap();
    }
    erase(&world);
    let messages = messages(&receiver, 2);
    // The authorization stays EXCHANGED, so its refresh window has not ended.
    assert_eq!(types(&messages), ["sync_completed", "data_expunged"]);
}

#[test]
fn an_application_is_not_told_of_another_ones_consents() {
    let (world, receiver, own) = (World::new(), accepting(), accepting());
    let other = App::register(world.store(), "other");
    world
        .store()
        .webhooks()
        .add(&other.id, &receiver.base, Actor::Operator)
        .unwrap();
    world.add(&own.base);
    let finished = world.exchanged();
    world.sync_and_revoke(&finished);
    let theirs = world.exchanged_by(&Flow::of(&other));
    world.sync(&theirs);
    assert_eq!(messages(&own, 2).len(), 2);
    let told = messages(&receiver, 1);
    assert_eq!(body(&told[0])["data"]["consentId"], theirs.consent.as_str());
    until("all deliveries", || {
        world
            .deliveries()
            .iter()
            .all(|one| one.state == DeliveryState::Delivered)
    });
    assert_eq!((own.asked().len(), receiver.asked().len()), (2, 1));
}

/// An event is written in the transaction of its move. So it is lost with it, and never without it.
#[test]
fn a_move_that_is_rolled_back_tells_nothing() {
    let world = World::idle();
    world.add("https://app.example/hooks");
    let finished = world.exchanged();
    world.sql("CREATE TRIGGER broken BEFORE INSERT ON revoked_token BEGIN SELECT RAISE(ABORT, 'no space left'); END");
    let revoke = || world.store().consents().revoke(&finished.consent, Actor::Operator);
    assert!(revoke().is_err());
    assert_eq!(world.deliveries(), []);
    world.sql("DROP TRIGGER broken");
    assert_eq!(revoke().unwrap(), 1);
    // The exchange had made a job, which the revocation stopped.
    let told: Vec<&str> = world.deliveries().iter().map(|one| one.event_type.name()).collect();
    assert_eq!(told, ["consent_revoked", "sync_failed"]);
    // The move itself fails if its event cannot be written.
    let other = world.exchanged();
    world.sql("CREATE TRIGGER broken BEFORE INSERT ON webhook_event BEGIN SELECT RAISE(ABORT, 'no space left'); END");
    assert!(
        world
            .store()
            .consents()
            .revoke(&other.consent, Actor::Operator)
            .is_err()
    );
    let consent = world.store().consents().get(&other.consent).unwrap().unwrap();
    assert_eq!(consent.state.name(), "EXCHANGED");
}

#[test]
fn without_a_receiver_no_event_is_written() {
    let world = World::idle();
    let finished = world.exchanged();
    world.sync_and_revoke(&finished);
    assert_eq!(world.count("SELECT count(*) FROM webhook_event"), 0);
}

/// The tables of webhooks would keep the identifier after the consent has lost it.
#[test]
fn no_table_of_webhooks_names_the_user_or_has_a_secret_in_clear() {
    let world = World::idle();
    let secret = world.add("https://app.example/hooks");
    let flow = Flow {
        user: Some("somebody@example.org"),
        ..Flow::of(&world.app)
    };
    let finished = world.exchanged_by(&flow);
    world.sync_with_gaps(&finished);
    world.revoke(&finished);
    erase(&world);
    assert_eq!(world.deliveries().len(), 4);
    let outgoing = world
        .store()
        .webhooks()
        .outgoing(world.deliveries()[0].id)
        .unwrap()
        .unwrap();
    assert!(outgoing.body.contains("somebody@example.org"));
    let file = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    for table in ["webhook_event", "webhook_delivery", "webhook_receiver"] {
        let mut statement = file.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for at in 0..columns {
                let value = format!("{:?}", row.get::<_, rusqlite::types::Value>(at).unwrap());
                for secret in ["somebody", secret.trim_start_matches("whsec_"), &finished.patients[0]] {
                    assert!(!value.contains(secret), "{table}: {value}");
                }
            }
        }
    }
}

/// The operator's consents for imported records end with the person's records.
#[test]
fn an_erased_persons_consent_is_told_as_revoked() {
    let (world, receiver) = (World::new(), accepting());
    let store = world.store();
    store.webhooks().add("local", &receiver.base, Actor::Operator).unwrap();
    let consent = store
        .consents()
        .of_imported("local", tabularium::lake::Mode::Live, "ann")
        .unwrap();
    store
        .forget_imported("local", tabularium::lake::Mode::Live, "ann")
        .unwrap();
    let messages = messages(&receiver, 1);
    let told = body(&messages[0]);
    let expected = json!({"consentId": consent, "mode": "LIVE", "externalId": Value::Null, "by": "operator",
        "authorizations": []});
    assert_eq!((&told["type"], &told["data"]), (&json!("consent_revoked"), &expected));
    assert!(!messages[0].body.contains("ann"));
}

/// Over HTTP, as applications do it.
#[test]
fn a_revocation_by_the_link_api_is_told() {
    let (world, receiver) = (World::new(), accepting());
    world.add(&receiver.base);
    let flow = Flow::link(&world.app);
    let finished = flow.finish(&world.server);
    let keys: &Keys = world.app.keys(flow.mode);
    let tokens = finished.link_tokens(&world.server, keys);
    let bearer = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
    let headers = [("authorization", bearer.as_str())];
    let answer = world
        .server
        .post("/link/revoke", &headers, &json!({"secret_key": keys.secret}));
    assert_eq!(answer.status, 200, "{}", answer.text);
    let told = types(&messages(&receiver, 2));
    assert_eq!(told, ["consent_revoked", "sync_failed"]);
}
