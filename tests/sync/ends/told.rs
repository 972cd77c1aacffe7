//! What an application is told by webhooks of a sync and an erasure that the worker has carried out.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tabularium::consent::{Actor, DeliveryFilter, LOCAL_APPLICATION};

use super::super::world::{World, text};

/// The bodies of all messages, oldest first.
fn told(world: &World) -> Vec<Value> {
    let webhooks = world.store().webhooks();
    let filter = DeliveryFilter {
        limit: 1_000,
        ..DeliveryFilter::default()
    };
    let deliveries = webhooks.deliveries(&filter).unwrap();
    // Only the first of a consent can be sent. The others are read from the store's file.
    let file = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    let of_event = |id: &str| {
        let sql = "SELECT json_object('type', type, 'data', json(data)) FROM webhook_event WHERE id = ?1";
        let body: String = file.query_row(sql, [id], |row| row.get(0)).unwrap();
        serde_json::from_str(&body).unwrap()
    };
    deliveries.iter().rev().map(|one| of_event(&one.event)).collect()
}

#[test]
fn each_end_of_a_sync_and_of_records_is_told_once() {
    let world = World::working(2);
    let webhooks = world.store().webhooks();
    webhooks
        .add(LOCAL_APPLICATION, "https://app.example/hooks", Actor::Operator)
        .unwrap();
    let (gone, revoked) = (world.synced("lakeshore", 0), world.synced("lakeshore", 1));
    let bearer = format!("Bearer {}", gone.token);
    let path = "/fhir/Patient/$PATIENT_ID/$expunge";
    let answer = world.server.send("POST", path, &[("authorization", &bearer)], "");
    assert_eq!(answer.status, 200, "{}", answer.text);
    world
        .store()
        .consents()
        .revoke(&revoked.consent, Actor::Patient)
        .unwrap();
    let erased = || told(&world).iter().filter(|one| one["type"] == "data_expunged").count();
    world.until("both erasures", || erased() == 2);
    let mut by_consent: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in told(&world) {
        let types = by_consent
            .entry(text(&one["data"], "consentId").to_owned())
            .or_default();
        types.push(text(&one, "type").to_owned());
        for secret in [
            &gone.patient,
            &gone.source_patient,
            &revoked.patient,
            &gone.token,
            &gone.source_token,
        ] {
            assert!(!one.to_string().contains(secret.as_str()), "{one}");
        }
    }
    let expected = BTreeMap::from([
        (
            gone.consent.clone(),
            vec!["sync_completed".to_owned(), "data_expunged".to_owned()],
        ),
        (
            revoked.consent.clone(),
            ["sync_completed", "consent_revoked", "data_expunged"]
                .map(str::to_owned)
                .to_vec(),
        ),
    ]);
    assert_eq!(by_consent, expected);
    let of_gone = told(&world)
        .into_iter()
        .find(|one| one["type"] == "data_expunged" && one["data"]["consentId"] == gone.consent.as_str());
    let data = of_gone.unwrap()["data"].clone();
    assert_eq!(
        (&data["cause"], &data["authorizations"]),
        (
            &json!("$expunge"),
            &json!([{"authorizationId": gone.authorization, "endpointId": "lakeshore"}])
        )
    );
    // The erasure searched the whole store, webhooks included, for the ids of the erased records.
    let job = world.store().erasure_jobs().get(text(&data, "jobId")).unwrap().unwrap();
    let keys = world
        .store()
        .es256_keys()
        .all(tabularium::consent::KeyPurpose::Receipt)
        .unwrap();
    let claims = tabularium::consent::verify_receipt(&job.receipt.unwrap(), &keys).unwrap();
    let places = claims["search"]["service_store"]["where"].as_object().unwrap();
    assert!(places.keys().all(|place| !place.starts_with("webhook")), "{places:?}");
    // Each ended job is told once, also the one that gaps made incomplete.
    assert_eq!(
        world.count("SELECT count(*) FROM sync_job WHERE state IN ('COMPLETED', 'FAILED')"),
        world.count("SELECT count(*) FROM webhook_event WHERE type IN ('sync_completed', 'sync_failed')")
    );
}
