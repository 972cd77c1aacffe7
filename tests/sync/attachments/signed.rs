//! Signed addresses of attachments: who may read by them what, and for how long.

use serde_json::{Value, json};
use tabularium::consent::{Actor, Usage};

use super::world::{Connected, World, again, at_source, attachment, record, record_path, signing_world, text, world};

/// The address of a document as its record has it.
fn address(record: &Value) -> String {
    text(attachment(record), "url").to_owned()
}

/// Requests an address without a token. Returns the status and the body.
fn open(world: &World, address: &str) -> (u16, String) {
    let path = address.strip_prefix(&world.base_url()).unwrap();
    let answer = world.server.send_bytes("GET", path, &[], &[]);
    (answer.0, String::from_utf8_lossy(&answer.2).into_owned())
}

/// The parts of a signed address: the id, and the values of its parameters in their order.
fn parts(world: &World, address: &str) -> (String, Vec<(String, String)>) {
    let begin = format!("{}/fhir/Binary/", world.base_url());
    let (id, query) = address.strip_prefix(&begin).unwrap().split_once('?').unwrap();
    let pairs = form_urlencoded::parse(query.as_bytes());
    (
        id.to_owned(),
        pairs
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect(),
    )
}

fn joined(world: &World, id: &str, pairs: &[(String, String)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    format!("{}/fhir/Binary/{id}?{}", world.base_url(), query.finish())
}

#[test]
fn a_signed_address_does_not_outlive_its_token() {
    let world = signing_world(1);
    let own = world.synced("riverbend", 0);
    world.store().clock().advance(86_400 - 60);
    let address = address(&record(&world, &own, "text"));
    assert_eq!(open(&world, &address).0, 200);
    world.store().clock().advance(60);
    assert_eq!(open(&world, &address).0, 403);
}

#[test]
fn a_signed_address_needs_no_token_for_ten_minutes() {
    let world = signing_world(1);
    let own = world.synced("riverbend", 0);
    let document = at_source(&world, &own, "text");
    let shown = record(&world, &own, "text");
    let address = address(&shown);
    assert_eq!(open(&world, &address), (200, document.clone()));
    let path = address.strip_prefix(&world.base_url()).unwrap();
    let (status, headers, bytes) = world.server.send_bytes("HEAD", path, &[], &[]);
    assert_eq!((status, bytes.len()), (200, 0));
    assert_eq!(headers["cache-control"], "private, no-store");
    let range = world.server.send_bytes("GET", path, &[("range", "bytes=0-3")], &[]);
    assert_eq!((range.0, range.2), (206, document.as_bytes()[..4].to_vec()));
    let resource = world
        .server
        .send_bytes("GET", path, &[("accept", "application/fhir+json")], &[]);
    let resource: Value = serde_json::from_slice(&resource.2).unwrap();
    assert_eq!(resource["resourceType"], "Binary");
    // Without the signature the address needs a token, as it does in a service that does not sign.
    let plain = path.split('?').next().unwrap();
    assert_eq!(open(&world, &format!("{}{plain}", world.base_url())).0, 401);
    assert_eq!(world.get(plain, &own.token).status, 200);
    // A token counts before a signature.
    assert_eq!(world.get(path, "bad").status, 401);
    world.store().clock().advance(599);
    assert_eq!(open(&world, &address).0, 200);
    world.store().clock().advance(1);
    let (status, body) = open(&world, &address);
    assert_eq!(status, 403, "{body}");
    assert!(body.contains("read the record again"), "{body}");
    assert_eq!(open(&world, &self::address(&record(&world, &own, "text"))).0, 200);
}

#[test]
fn reads_searches_and_everything_are_signed_and_nothing_else_is() {
    let world = signing_world(1);
    let own = world.synced("riverbend", 0);
    let token = &own.token;
    let signed = |answer: &str| answer.matches("signature=").count();
    let read = world.get(&record_path(&world, &own, "text"), token);
    assert_eq!(signed(&read.text), 1, "{}", read.text);
    for path in [
        "/fhir/DocumentReference",
        "/fhir/DocumentReference?_elements=content",
        "/fhir?_type=DocumentReference,DiagnosticReport",
        "/fhir/Patient/$PATIENT_ID/$everything",
        &format!("{}?_elements=content", record_path(&world, &own, "text")),
    ] {
        let answer = world.get(path, token);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert!(signed(&answer.text) > 0, "{path}: {}", answer.text);
        for rest in answer.text.split("\"url\":\"").skip(1) {
            let url = rest.split('"').next().unwrap();
            // Documents that are too large stay at the source.
            if url.starts_with(&format!("{}/fhir/Binary/", world.base_url())) {
                assert_eq!(open(&world, url).0, 200, "{path}: {url}");
            }
        }
    }
    let view = json!({"resourceType": "Parameters", "parameter": [{"name": "viewResource", "resource": {
        "resourceType": "ViewDefinition", "name": "v", "status": "active", "resource": "DocumentReference",
        "select": [{"column": [{"name": "url", "path": "content.attachment.url.first()"}]}]}}]});
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/fhir+json"),
    ];
    let rows = world
        .server
        .send("POST", "/fhir/ViewDefinition/$run", &headers, &view.to_string());
    assert!(rows.status == 200 && rows.text.contains("Binary/"), "{}", rows.text);
    let card = json!({"resourceType": "Parameters", "parameter": [{"name": "credentialType", "valueUri": "Patient/$everything"}]});
    let path = "/fhir/Patient/$PATIENT_ID/$health-cards-issue";
    let card = world.server.send("POST", path, &headers, &card.to_string());
    let summary = world.get("/fhir/Patient/$PATIENT_ID/$summary", token);
    for (answer, what) in [(rows, "rows"), (summary, "summary"), (card, "card")] {
        assert_eq!(answer.status, 200, "{what}: {}", answer.text);
        assert_eq!(signed(&answer.text), 0, "{what}: {}", answer.text);
    }
    // A search takes a signed address as an answer shows it.
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("location", &address(&record(&world, &own, "text")));
    let found = world
        .get(&format!("/fhir/DocumentReference?{}", query.finish()), token)
        .json();
    assert_eq!(found["entry"].as_array().unwrap().len(), 1, "{found}");
}

#[test]
fn the_stored_text_and_its_tag_do_not_change() {
    let world = signing_world(1);
    let own = world.synced("riverbend", 0);
    let path = record_path(&world, &own, "text");
    let first = world.get(&path, &own.token);
    world.store().clock().advance(60);
    let second = world.get(&path, &own.token);
    assert_ne!(first.text, second.text, "each read makes an address");
    assert_eq!(first.header("etag"), second.header("etag"));
    assert_eq!(first.header("last-modified"), second.header("last-modified"));
    let bearer = format!("Bearer {}", own.token);
    let held = [
        ("authorization", bearer.as_str()),
        ("if-none-match", first.header("etag")),
    ];
    assert_eq!(world.server.send("GET", &path, &held, "").status, 304);
    // A sync that finds the same record stores nothing new.
    again(&world, &own);
    assert_eq!(world.get(&path, &own.token).header("etag"), first.header("etag"));
}

/// The door of this feature: no change of an address leads to another attachment, person or time.
#[test]
fn an_altered_address_opens_nothing() {
    let world = signing_world(2);
    let (own, other) = (world.synced("riverbend", 0), world.synced("riverbend", 1));
    let (mine, theirs) = (
        address(&record(&world, &own, "text")),
        address(&record(&world, &other, "text")),
    );
    let (id, pairs) = parts(&world, &mine);
    let (other_id, other_pairs) = parts(&world, &theirs);
    let (pdf, _) = parts(&world, &address(&record(&world, &own, "pdf")));
    assert_eq!(open(&world, &joined(&world, &id, &pairs)).0, 200);
    // Another attachment, of the same person and of another one.
    for other_id in [&other_id, &pdf] {
        assert_eq!(open(&world, &joined(&world, other_id, &pairs)).0, 403, "{other_id}");
    }
    // Each parameter of the other person's address, alone and with others.
    for chosen in 1..15_u32 {
        let mixed: Vec<_> = (0..4)
            .map(|at| {
                if chosen >> at & 1 == 1 {
                    &other_pairs[at]
                } else {
                    &pairs[at]
                }
            })
            .cloned()
            .collect();
        let same = mixed == pairs;
        for (id, whole) in [(&id, &pairs), (&other_id, &other_pairs)] {
            let status = open(&world, &joined(&world, id, &mixed)).0;
            assert_eq!(status == 200, mixed == *whole, "{chosen}: {mixed:?}");
        }
        assert!(!same || chosen == 0b0100, "only the time is the same");
    }
    // Each parameter changed or left out.
    for at in 0..pairs.len() {
        let mut without = pairs.clone();
        let (name, value) = without.remove(at);
        let expected = if name == "signature" { 401 } else { 403 };
        assert_eq!(open(&world, &joined(&world, &id, &without)).0, expected, "{name}");
        for changed in [
            format!("{value}0"),
            String::new(),
            value.to_uppercase(),
            format!(" {value}"),
            "x".to_owned(),
        ] {
            if changed == value {
                continue;
            }
            let mut altered = pairs.clone();
            altered[at] = (name.clone(), changed.clone());
            assert_eq!(open(&world, &joined(&world, &id, &altered)).0, 403, "{name} {changed}");
        }
    }
    let mut late = pairs.clone();
    late[2].1 = (late[2].1.parse::<i64>().unwrap() + 600).to_string();
    assert_eq!(open(&world, &joined(&world, &id, &late)).0, 403);
    // Two signatures: the last one counts.
    let two = [pairs.clone(), vec![other_pairs[3].clone()]].concat();
    assert_eq!(open(&world, &joined(&world, &id, &two)).0, 403);
    // An address opens no record of another type, and no search.
    let (_, query) = mine.split_once('?').unwrap();
    for path in [
        record_path(&world, &own, "text"),
        "/fhir/Binary".to_owned(),
        "/fhir/Patient".to_owned(),
    ] {
        let answer = world.server.send("GET", &format!("{path}?{query}"), &[], "");
        assert_eq!(answer.status, 401, "{path}");
    }
}

#[test]
fn an_application_reads_by_an_address_only_what_the_record_refers_to() {
    let world = signing_world(2);
    let (own, other) = (world.synced("riverbend", 0), world.synced("riverbend", 1));
    let application = world.server.application_token();
    let shown = world.get(&record_path(&world, &own, "text"), &application);
    assert_eq!(shown.status, 200, "{}", shown.text);
    let mine = address(&shown.json());
    assert_eq!(open(&world, &mine), (200, at_source(&world, &own, "text")));
    let (_, pairs) = parts(&world, &mine);
    let (other_id, _) = parts(&world, &address(&record(&world, &other, "text")));
    assert_eq!(open(&world, &joined(&world, &other_id, &pairs)).0, 403);
    let expected = &own.authorization;
    assert_eq!(pairs[0], ("authorization".to_owned(), expected.clone()));
    // The address ends with the consent of its record, and not with that of another one.
    let revoke = |connected: &Connected| {
        world
            .store()
            .consents()
            .revoke(&connected.consent, Actor::Patient)
            .unwrap()
    };
    revoke(&other);
    assert_eq!(open(&world, &mine).0, 200);
    revoke(&own);
    assert_eq!(open(&world, &mine).0, 403);
}

#[test]
fn an_address_ends_with_its_consent_its_records_and_its_token() {
    let world = signing_world(4);
    let of = |person: u64| {
        let connected = world.synced("riverbend", person);
        let address = address(&record(&world, &connected, "text"));
        assert_eq!(open(&world, &address).0, 200);
        (connected, address)
    };
    let (revoked, of_revoked) = of(0);
    world
        .store()
        .consents()
        .revoke(&revoked.consent, Actor::Application)
        .unwrap();
    assert_eq!(open(&world, &of_revoked).0, 403);

    let (expunged, of_expunged) = of(1);
    let bearer = format!("Bearer {}", expunged.token);
    let path = "/fhir/Patient/$PATIENT_ID/$expunge";
    let answer = world.server.send("POST", path, &[("authorization", &bearer)], "");
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(open(&world, &of_expunged).0, 403);

    let (token, of_token) = of(2);
    let access = world.server.tokens.verify(&token.token).unwrap();
    world.server.tokens.revoke(&access).unwrap();
    assert_eq!(open(&world, &of_token).0, 403);

    // The records of one-time access are over while the address is still young.
    let once = world.connect_as("riverbend", 3, Usage::OneTime);
    assert_eq!(world.end_of(&once), tabularium::consent::JobState::Completed);
    world.store().clock().advance(86_390);
    let of_once = world.server.application_token();
    let of_once = address(&world.get(&record_path(&world, &once, "text"), &of_once).json());
    assert_eq!(open(&world, &of_once).0, 200);
    world.store().clock().advance(10);
    assert_eq!(open(&world, &of_once).0, 403);
}

#[test]
fn a_service_that_does_not_sign_takes_no_signature() {
    let signing = signing_world(1);
    let own = signing.synced("riverbend", 0);
    let (_, pairs) = parts(&signing, &address(&record(&signing, &own, "text")));
    let plain = world(1, &json!({}));
    let own = plain.synced("riverbend", 0);
    let address = address(&record(&plain, &own, "text"));
    assert!(!address.contains('?'), "{address}");
    let id = address.rsplit('/').next().unwrap();
    assert_eq!(open(&plain, &joined(&plain, id, &pairs)).0, 401);
}
