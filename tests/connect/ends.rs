//! Flows that end without a code, and what the application is told.

use std::io::{Read, Write};
use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tabularium::consent::{
    Actor, AuthorizationType, ConsentState, EndpointStatus, IDLE_SECONDS, NewEndpoint, SessionKey,
};
use tabularium::lake::Mode;

use super::world::World;
use crate::harness::payer::Visit;

#[test]
fn what_was_known_of_the_patient_is_forgotten_when_the_flow_ends() {
    let hints = [
        ("svc_search_mode", "true"),
        ("svc_hint_first_name", "Zebulonia"),
        ("svc_hint_dob", "1961-02-03"),
    ];
    for cancels in [true, false] {
        let world = World::new();
        let mut browser = world.enter(&hints);
        let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
        let digest: Vec<u8> = store
            .query_row("SELECT digest FROM flow_session", [], |row| row.get(0))
            .unwrap();
        let key = SessionKey::from_text(&URL_SAFE_NO_PAD.encode(digest)).unwrap();
        let known = || {
            let flow = world.store().flows().peek(key).unwrap().unwrap();
            let (hints, details) = (flow.request.hints, flow.progress.details);
            (hints.given, hints.birth_date, details.given, details.birth_date)
        };
        let of_hints = |text: &str| Some(text.to_owned());
        assert_eq!(
            known(),
            (
                of_hints("Zebulonia"),
                of_hints("1961-02-03"),
                "Zebulonia".into(),
                "1961-02-03".into()
            )
        );
        if cancels {
            browser.press("cancel", &[]);
        } else {
            world.store().clock().advance(IDLE_SECONDS);
            world.store().sweep().unwrap();
        }
        assert_eq!(known(), (None, None, String::new(), String::new()));
    }
}

#[test]
fn who_cancels_is_access_denied_in_the_words_of_the_document() {
    let world = World::new();
    for choose in [false, true] {
        let mut browser = world.enter(&[]);
        if choose {
            browser.send("choose", &[("endpoint", "lakeshore")]);
        }
        let page = browser.press("cancel", &[]);
        assert_eq!(page.status, 303);
        assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
        assert_eq!(
            page.answer("error_description").as_deref(),
            Some("User cancelled the consent flow")
        );
        assert_eq!(page.answer("state").as_deref(), Some("the state"));
        assert_eq!(page.answer("error_uri"), None);
        assert_eq!(world.consent().state, ConsentState::Abandoned);
        let left = if choose {
            vec!["lakeshore OAUTH ABANDONED"]
        } else {
            vec![]
        };
        assert_eq!(world.states(), left);
    }
}

/// A source that grants access without naming a Patient, because it has none.
fn patientless() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let known = base.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0u8; 8_192];
            let read = stream.read(&mut request).unwrap();
            let body = if request[..read].starts_with(b"POST /token") {
                r#"{"access_token":"t","token_type":"bearer","expires_in":60}"#.to_owned()
            } else {
                format!(r#"{{"authorization_endpoint":"{known}/authorize","token_endpoint":"{known}/token"}}"#)
            };
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    base
}

#[test]
fn who_has_no_records_is_access_denied_in_the_words_of_the_document() {
    let world = World::new();
    let base = format!("{}/fhir", patientless());
    let organization = world
        .store()
        .endpoints()
        .get("lakeshore")
        .unwrap()
        .unwrap()
        .organization
        .id;
    let new = NewEndpoint {
        id: Some("empty"),
        organization: &organization,
        name: "empty",
        mode: Mode::Test,
        label: &["Empty Plan".to_owned()],
        authorization_type: AuthorizationType::Oauth,
        refreshable: false,
        refresh_valid_for: None,
        max_auth_period: None,
        status: EndpointStatus::Live,
        resources: &[],
        fhir_base: &base,
        configuration: None,
        client_id: "us",
        client_secret: None,
        scope: "launch/patient",
        identifier_system: "urn:empty",
    };
    world.store().endpoints().save(&new, Actor::Operator).unwrap();
    let mut browser = world.enter(&[("svc_endpoint_id", "empty")]);
    let there = browser.press("share", &[]).location();
    let state = there
        .query_pairs()
        .find(|(name, _)| name == "state")
        .unwrap()
        .1
        .into_owned();
    browser.go(&format!("/connect/callback/empty?code=c&state={state}"));
    assert_eq!(browser.page.heading(), "Empty Plan found no records for you");
    assert_eq!(world.states(), ["empty OAUTH BOUNCED"]);
    let page = browser.press("leave", &[]);
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    assert_eq!(
        page.answer("error_description").as_deref(),
        Some("No records found for this patient")
    );
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    assert_eq!(page.answer("error_uri"), None);
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}

/// Makes a kind of access to a table fail in the store.
fn break_down(world: &World, what: &str) {
    let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    let name = format!("broken_{}", what.replace(' ', "_"));
    let sql = format!("CREATE TRIGGER {name} BEFORE {what} BEGIN SELECT RAISE(ABORT, 'no space left'); END");
    store.execute_batch(&sql).unwrap();
}

fn is_server_error(world: &World, page: &super::browser::Page, description: &str) {
    assert_eq!(
        (page.status, page.answer("error").as_deref()),
        (303, Some("server_error"))
    );
    assert_eq!(page.answer("error_description").as_deref(), Some(description));
    assert_eq!(
        page.answer("error_uri").unwrap(),
        format!("{}/errors/server_error", world.base())
    );
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    assert_eq!(page.answer("code"), None);
}

#[test]
fn a_flow_that_cannot_be_begun_is_a_server_error() {
    let world = World::new();
    break_down(&world, "INSERT ON flow_session");
    let mut browser = world.browser();
    let page = browser.ask("GET", &world.authorize(&[]), None).clone();
    is_server_error(&world, &page, "The consent flow could not be started");
    assert!(browser.cookies.is_empty());
    let audit = world.store().audit().newest(None, 100).unwrap();
    assert!(
        audit.iter().all(|entry| entry.action != "consent.created"),
        "nothing is left"
    );
}

#[test]
fn a_code_that_cannot_be_made_is_a_server_error() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    break_down(&world, "INSERT ON authorization_code");
    let page = world.connect(&mut browser).clone();
    is_server_error(&world, &page, "The authorization code could not be created");
    // The service revoked the source's grant.
    assert_eq!(world.states(), ["lakeshore OAUTH REVOKED"]);
    assert_eq!(world.consent().state, ConsentState::Abandoned);
    assert!(
        world
            .store()
            .credentials()
            .get(&world.authorizations()[0].id)
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_store_that_cannot_end_a_flow_is_a_server_error_and_time_ends_it() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    break_down(&world, "UPDATE OF state ON consent");
    let page = world.connect(&mut browser).clone();
    is_server_error(&world, &page, "The authorization code could not be created");
    assert_eq!(world.consent().state, ConsentState::Created);
    let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    store
        .execute_batch("DROP TRIGGER broken_UPDATE_OF_state_ON_consent")
        .unwrap();
    world.store().clock().advance(IDLE_SECONDS);
    world.store().sweep().unwrap();
    assert_eq!(world.consent().state, ConsentState::Abandoned);
    assert_eq!(world.states(), ["lakeshore OAUTH ABANDONED"]);
}

#[test]
fn a_session_ends_after_thirty_idle_minutes_and_says_where_to_read_why() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    // Each page restarts the half hour.
    for _ in 0..3 {
        world.store().clock().advance(IDLE_SECONDS - 1);
        assert_eq!(browser.go("/connect").status, 200);
    }
    world.store().clock().advance(IDLE_SECONDS);
    let cookies = browser.cookies.clone();
    let page = browser.go("/connect").clone();
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    let expected = format!("{}/errors/session_timeout", world.base());
    assert_eq!(page.answer("error_uri").unwrap(), expected);
    assert_eq!(world.consent().state, ConsentState::Abandoned);
    assert_eq!(world.states(), ["lakeshore OAUTH ABANDONED"]);
    let reference = browser.go("/errors/session_timeout");
    assert_eq!(
        (reference.status, reference.heading().as_str()),
        (200, "The session timed out")
    );
    // The application gets the result only once.
    browser.cookies = cookies;
    assert_eq!(browser.go("/connect").status, 410);
}

#[test]
fn a_form_sent_after_the_session_ended_tells_the_application_too() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    world.store().clock().advance(IDLE_SECONDS);
    world.store().sweep().unwrap();
    let page = browser.press("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    assert!(page.answer("error_uri").is_some());
}

#[test]
fn who_comes_back_from_a_source_too_late_is_told_so() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    let back = world.away(&mut browser, &Visit::of(&world.payer.person(0).user));
    world.store().clock().advance(IDLE_SECONDS);
    let page = browser.go(&back);
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    assert!(page.answer("error_uri").unwrap().ends_with("/errors/session_timeout"));
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}

#[test]
fn a_consent_that_is_revoked_meanwhile_ends_the_flow() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    world
        .store()
        .consents()
        .revoke(&world.consent().id, Actor::Operator)
        .unwrap();
    let page = browser.go("/connect");
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    assert!(page.answer("error_uri").unwrap().ends_with("/errors/abandoned"));
}

#[test]
fn a_code_that_nobody_fetches_abandons_the_consent() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    assert!(world.connect(&mut browser).answer("code").is_some());
    world.store().clock().advance(IDLE_SECONDS);
    world.store().sweep().unwrap();
    assert_eq!(world.consent().state, ConsentState::Abandoned);
    assert_eq!(world.states(), ["lakeshore OAUTH ABANDONED"]);
}

#[test]
fn every_error_code_has_a_page() {
    let world = World::new();
    let mut browser = world.browser();
    let index = browser.go("/errors").clone();
    assert_eq!(index.status, 200);
    for code in [
        "access_denied",
        "session_timeout",
        "abandoned",
        "no_facilities",
        "server_error",
    ] {
        assert!(index.text.contains(&format!("/errors/{code}")));
        let page = browser.go(&format!("/errors/{code}"));
        assert_eq!(page.status, 200);
        assert!(page.text.contains(code));
    }
    assert_eq!(browser.go("/errors/other").status, 404);
}
