//! Attacks with a stolen cookie, or with a cookie planted in another browser.

use tabularium::consent::{Actor, Clock, NewApplication};
use tabularium::lake::Mode;

use super::super::browser::Browser;
use super::super::world::{REDIRECT, World};
use crate::harness::server::Server;

#[test]
fn over_tls_a_cookie_of_another_host_or_of_plain_http_is_not_taken() {
    let server = Server::known_as("https://records.example", Clock::at(1_800_000_000));
    let new = NewApplication {
        id: Some("app"),
        name: "app",
        redirect_uris: &[REDIRECT.to_owned()],
        origins: &["https://app.example".to_owned()],
        ..NewApplication::default()
    };
    let (_, keys) = server.store.applications().create(&new, Actor::Operator).unwrap();
    let client = &keys.iter().find(|key| key.mode == Mode::Test).unwrap().publishable;
    let challenge = "c".repeat(43);
    let request = form_urlencoded::Serializer::new(String::new())
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
    let mut browser = Browser::new(&format!("http://{}", server.address));
    let page = browser.ask("GET", &format!("/oauth/authorize?{request}"), None);
    let cookie = page.header("set-cookie").to_owned();
    assert!(cookie.starts_with("__Host-svc_session="), "{cookie}");
    for part in ["Secure", "HttpOnly", "Path=/", "SameSite=Lax"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Domain"), "{cookie}");
    assert_eq!(browser.go("/connect").status, 200);
    // A neighbour in the domain, or somebody on the way, can set the value only under another name.
    let value = browser.cookies.remove("__Host-svc_session").unwrap();
    browser.cookies.insert("svc_session".to_owned(), value);
    assert_eq!(browser.go("/connect").status, 410);
    assert_eq!(browser.ask("GET", "/connect/progress", None).status, 410);
    // The flow cannot be resumed with it either.
    let resumed = browser.ask("GET", &format!("/oauth/authorize?{request}&svc_resume=true"), None);
    assert!(resumed.header("set-cookie").starts_with("__Host-svc_session="));
    let framed = form_urlencoded::Serializer::new(String::new())
        .extend_pairs([
            ("publishable_key", client.as_str()),
            ("origin", "https://app.example"),
            ("channel", "c"),
            ("display", "iframe"),
        ])
        .finish();
    let cookie = browser.ask("GET", &format!("/link/start?{framed}"), None);
    let cookie = cookie.header("set-cookie");
    assert!(
        cookie.starts_with("__Host-svc_session=") && cookie.contains("Partitioned"),
        "{cookie}"
    );
}

#[test]
fn a_session_that_was_planted_is_not_gone_on_with() {
    let world = World::new();
    let mut thief = world.enter(&[]);
    let planted = thief.cookies.clone();
    // The victim's browser has the thief's cookie and begins its own flow. From then on it has a new cookie.
    let mut victim = world.browser();
    victim.cookies = planted.clone();
    victim.go(&world.authorize(&[("svc_external_id", "user-2")]));
    assert_ne!(victim.cookies, planted);
    victim.send("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(thief.go("/connect").heading(), "Where are your records?");
    assert_eq!(
        victim.go("/connect").heading(),
        "Share your records from Lakeshore Health Plan?"
    );
}

#[test]
fn svc_resume_takes_up_the_very_request_of_the_very_browser() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let cookies = browser.cookies.clone();
    let other_redirect = "http://127.0.0.1/cb";
    for changes in [
        vec![("client_id", world.live.as_str())],
        vec![("redirect_uri", other_redirect)],
        vec![("state", "another")],
        vec![("state", "")],
        vec![("svc_external_id", "user-2")],
        vec![("scope", "launch/patient")],
        vec![("code_challenge", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")],
        vec![("svc_search_mode", "true")],
        vec![("aud_", "x")],
    ] {
        let changes: Vec<_> = changes.into_iter().chain([("svc_resume", "true")]).collect();
        let mut other = world.browser();
        other.cookies = cookies.clone();
        other.go(&world.authorize(&changes));
        assert_ne!(other.cookies, cookies, "{changes:?}");
        assert_eq!(other.page.heading(), "Where are your records?", "{changes:?}");
    }
    // At the other entry point it counts as another request.
    let mut smart = world.browser();
    smart.cookies = cookies.clone();
    smart.go(&format!("/link/auth?{}", world.query(&[("svc_resume", "true")])));
    assert_ne!(smart.cookies, cookies);
    // Another browser has no session to resume.
    let mut stranger = world.browser();
    stranger.go(&world.authorize(&[("svc_resume", "true")]));
    assert_eq!(stranger.page.heading(), "Where are your records?");
    let mut own = world.browser();
    own.cookies = cookies;
    own.go(&world.authorize(&[("svc_resume", "true")]));
    assert_eq!(own.page.heading(), "Share your records from Lakeshore Health Plan?");
}

#[test]
fn redirect_uris_have_no_second_spelling() {
    let world = World::new();
    for uri in [
        "https://app.example@evil.example/callback?tenant=7",
        "https://app.example:443/callback?tenant=7",
        "https://APP.example/callback?tenant=7",
        "https://app.example/%63allback?tenant=7",
        "https://app.example/callback?tenant=7#x",
        "https://app.example/callback?tenant=7&next=https://evil.example",
        "https://app.example/callback/../callback?tenant=7",
        "https://app.example\\@evil.example/callback?tenant=7",
        "https://app.example.evil.example/callback?tenant=7",
        "//app.example/callback?tenant=7",
        "http://127.0.0.1:80@evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://127.0.0.1:8000/cb#x",
        "http://127.0.0.1:8000/cb?x",
        "http://127.0.0.1:8000/cb/",
        "http://127.1:8000/cb",
        "http://localhost:8000/cb",
        "http://[::1]:8000/cb",
        "https://127.0.0.1:8000/cb",
        "com.example.app:/cb/x",
        "COM.example.app:/cb",
        "javascript:alert(1)",
        " https://app.example/callback?tenant=7",
        "https://app.example/callback?tenant=7\r\nX: y",
    ] {
        let mut browser = world.browser();
        let page = browser.ask("GET", &world.authorize(&[("redirect_uri", uri)]), None);
        assert_eq!((page.status, page.header("location")), (400, ""), "{uri}");
    }
}
