//! What remains in the store after requests that nobody continues.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use tabularium::consent::{ARCHIVED_AFTER, Actor, IDLE_SECONDS, NewApplication};
use tabularium::http::{Limits, Rate, Rates};
use tabularium::lake::Mode;

use super::super::browser::Browser;
use super::super::world::{ORIGIN, REDIRECT, World};
use crate::harness::server::Server;

const DAY: i64 = 86_400;

fn rows(server: &Server, table: &str) -> i64 {
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let sql = format!("SELECT count(*) FROM {table}");
    store.query_row(&sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_flow_that_nobody_begins_leaves_nothing_but_a_count() {
    // A request with a long state left a consent, a session and audit entries, which were still there after 400 days.
    let world = World::new();
    let (consents, lines) = (rows(&world.server, "consent"), rows(&world.server, "audit"));
    let long = "s".repeat(4_000);
    let smart = format!("/link/auth?{}", world.query(&[("state", &long)]));
    let link = format!("/link/start?publishable_key={}&origin={ORIGIN}&channel=c", world.client);
    for address in [world.authorize(&[("state", &long)]), smart, link] {
        for _ in 0..4 {
            assert_eq!(world.browser().ask("GET", &address, None).status, 303);
        }
    }
    // A browser that opens the first page has begun the flow.
    world.enter(&[]);
    assert_eq!(rows(&world.server, "consent"), consents + 13);
    world.store().clock().advance(IDLE_SECONDS);
    let swept = world.store().sweep().unwrap();
    assert_eq!((swept.unbegun, swept.left), (12, 1));
    assert_eq!(rows(&world.server, "consent"), consents + 1);
    assert_eq!(rows(&world.server, "flow_session"), 1);
    assert_eq!(world.consent().state.name(), "ABANDONED");
    world.store().clock().advance(2 * DAY);
    world.store().sweep().unwrap();
    assert_eq!(
        (rows(&world.server, "flow_session"), rows(&world.server, "unbegun_flow")),
        (0, 0)
    );
    // The entries are the begun consent, its end, and the count.
    assert_eq!(rows(&world.server, "audit"), lines + 3);
    let audit = world.store().audit().newest(None, 10).unwrap();
    let counted = audit.iter().find(|entry| entry.action == "flow.never-begun").unwrap();
    assert_eq!((counted.application.as_deref(), &counted.consent), (Some("app"), &None));
    assert!(counted.detail.starts_with("12 on 20"), "{}", counted.detail);
}

#[test]
fn old_lines_of_a_flow_that_ended_are_archived_and_told_as_before() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    browser.press("cancel", &[]);
    let ended = world.consent().id;
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    let code = world.connect(&mut browser).answer("code").unwrap();
    world.exchange(&code);
    let lasting = world.consent().id;
    let told = |consent: &str| world.store().audit().newest(Some(consent), 100).unwrap();
    let before = [told(&ended), told(&lasting)];
    let in_store = |consent: &str| {
        let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
        let sql = "SELECT count(*) FROM audit WHERE consent = ?1";
        store.query_row(sql, [consent], |row| row.get::<_, usize>(0)).unwrap()
    };
    // Entries stay for 90 days. The other consent lasts until its refresh token expires, at the same time.
    world.store().clock().advance(ARCHIVED_AFTER - DAY);
    world.store().sweep().unwrap();
    assert_eq!(
        (in_store(&ended), in_store(&lasting)),
        (before[0].len(), before[1].len())
    );
    let files = || std::fs::read_dir(world.server.folder().join("audit")).map_or(0, Iterator::count);
    assert_eq!(files(), 0);
    world.store().clock().advance(DAY - 60);
    world.store().sweep().unwrap();
    world.store().clock().advance(3_600);
    world.store().sweep().unwrap();
    assert_eq!(in_store(&ended), 0);
    assert_eq!(files(), 1);
    assert_eq!(told(&ended), before[0]);
    assert!(told(&lasting).ends_with(&before[1]));
}

#[test]
fn a_browser_that_went_on_is_told_how_its_flow_ended() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    world.store().clock().advance(IDLE_SECONDS);
    world.store().sweep().unwrap();
    assert!(
        browser
            .go("/connect")
            .answer("error_uri")
            .unwrap()
            .ends_with("/errors/session_timeout")
    );
    // A browser that continues too late finds its session gone.
    let mut late = world.browser();
    late.ask("GET", &world.authorize(&[]), None);
    world.store().clock().advance(IDLE_SECONDS);
    assert_eq!(late.follow().status, 410);
}

/// A server with a limit of flows per address, and an application.
fn limited(burst: u32) -> (Server, String) {
    let flows = Rate {
        every: Duration::from_secs(3_600),
        burst: NonZeroU32::new(burst).unwrap(),
    };
    let rates = Rates {
        flows: Some(flows),
        ..Rates::default()
    };
    let limits = Limits {
        rates,
        ..Limits::default()
    };
    let server = Server::limited(&[], limits);
    let new = NewApplication {
        id: Some("app"),
        name: "app",
        redirect_uris: &[REDIRECT.to_owned()],
        origins: &[ORIGIN.to_owned()],
        ..NewApplication::default()
    };
    let (_, keys) = server.store.applications().create(&new, Actor::Operator).unwrap();
    let key = keys.iter().find(|key| key.mode == Mode::Test).unwrap();
    (server, key.publishable.clone())
}

#[test]
fn flows_of_one_address_have_a_bucket() {
    let (server, client) = limited(5);
    let challenge = "c".repeat(43);
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("client_id", client.as_str()),
            ("redirect_uri", REDIRECT),
            ("response_type", "code"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("scope", "launch/patient"),
            ("svc_external_id", "user-1"),
        ])
        .finish();
    let doors = [
        format!("/oauth/authorize?{query}"),
        format!("/link/auth?{query}"),
        format!("/link/start?publishable_key={client}&origin={ORIGIN}&channel=c"),
    ];
    let mut browser = Browser::new(&format!("http://{}", server.address));
    // A request that begins no flow does not count.
    for _ in 0..10 {
        assert_eq!(browser.ask("GET", &doors[0].replace("S256", "plain"), None).status, 303);
        assert_eq!(browser.ask("HEAD", &doors[0], None).status, 303);
    }
    for at in 0..5 {
        assert_eq!(browser.ask("GET", &doors[at % 3], None).header("location"), "/connect");
    }
    for door in &doors {
        let page = browser.ask("GET", door, None);
        assert_eq!((page.status, page.heading().as_str()), (429, "Too many people at once"));
        let wait: u64 = page.header("retry-after").parse().unwrap();
        assert!((1..=3_600).contains(&wait), "{wait}");
        assert!(page.header("set-cookie").is_empty());
    }
    assert_eq!(rows(&server, "flow_session"), 5);
    // A flow that has begun still works, and so do the other routes.
    assert_eq!(browser.go("/connect").status, 200);
    assert_eq!(server.send("GET", "/endpoints", &[], "").json(), json!([]));
    // A step that would add rows is refused too, but leaving is allowed.
    let csrf = browser.page.values("csrf")[0].clone();
    let fields = [("csrf", csrf.as_str()), ("endpoint", "nowhere")];
    assert_eq!(browser.ask("POST", "/connect/choose", Some(&fields)).status, 429);
    assert_eq!(browser.ask("POST", "/connect/cancel", Some(&fields)).status, 303);
}

#[test]
fn what_a_request_leaves_in_the_store_is_bounded() {
    let world = World::new();
    let long = "x".repeat(4_097);
    for (name, longest) in [
        ("state", 4_096),
        ("svc_external_id", 1_024),
        ("svc_hint_first_name", 1_024),
    ] {
        let search = ("svc_search_mode", "true");
        let page = world
            .browser()
            .ask("GET", &world.authorize(&[search, (name, &long[..longest + 1])]), None)
            .clone();
        assert_eq!(page.answer("error").as_deref(), Some("invalid_request"), "{name}");
        let fits = world.authorize(&[search, (name, &long[..longest])]);
        assert_eq!(
            world.browser().ask("GET", &fits, None).header("location"),
            "/connect",
            "{name}"
        );
    }
    let sql = "SELECT max(length(sealed)) FROM flow_session";
    let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    let most: i64 = store.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(most < 10_000, "{most}");
}
