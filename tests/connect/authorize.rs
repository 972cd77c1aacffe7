//! `/oauth/authorize` and `/link/auth`: which requests begin a flow, and how others are refused.

use tabularium::consent::{Actor, ConsentState, EndpointStatus};
use tabularium::lake::Mode;

use super::world::World;

#[test]
fn an_unknown_client_id_gets_a_page() {
    let world = World::new();
    for client in [
        "",
        "pk_test_unknown",
        "'; DROP TABLE client; --",
        "<script>alert(1)</script>",
    ] {
        let mut browser = world.browser();
        let page = browser.ask("GET", &world.authorize(&[("client_id", client)]), None);
        assert_eq!((page.status, page.header("location")), (400, ""), "{client}");
        assert!(!page.text.contains("alert(1)"), "{}", page.text);
        assert!(browser.cookies.is_empty());
    }
    assert!(world.store().clients().get(&world.client).unwrap().is_some());
}

#[test]
fn a_redirect_uri_that_is_not_registered_gets_a_page() {
    let world = World::new();
    for uri in [
        "",
        "https://evil.example/",
        "https://app.example/callback",
        "https://app.example/callback?tenant=8",
        "javascript:alert(1)",
    ] {
        let mut browser = world.browser();
        let page = browser.ask("GET", &world.authorize(&[("redirect_uri", uri)]), None);
        assert_eq!((page.status, page.header("location")), (400, ""), "{uri}");
        assert!(!page.text.contains("alert(1)") && !page.text.contains("evil.example"));
    }
}

#[test]
fn a_key_that_was_replaced_begins_nothing() {
    let world = World::new();
    world
        .store()
        .clients()
        .rotate("app", Mode::Test, 0, Actor::Operator)
        .unwrap();
    world.store().clock().advance(1);
    assert_eq!(world.browser().ask("GET", &world.authorize(&[]), None).status, 400);
}

#[test]
fn other_errors_go_to_the_redirect_uri_with_the_state() {
    let world = World::new();
    for (name, value, error) in [
        ("response_type", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("scope", "offline_access", "invalid_scope"),
        ("svc_external_id", "", "invalid_request"),
        ("svc_ial2_mode", "yes", "invalid_request"),
        ("svc_hint_dob", "2000-01-01", "invalid_request"),
        ("svc_endpoint_id", "nowhere", "invalid_request"),
        ("aud", "https://elsewhere.example/fhir", "invalid_request"),
    ] {
        let mut browser = world.browser();
        let page = browser.ask("GET", &world.authorize(&[(name, value)]), None);
        assert_eq!(page.status, 303, "{name}={value}");
        assert!(
            page.header("location")
                .starts_with("https://app.example/callback?tenant=7&")
        );
        assert_eq!(page.answer("error").as_deref(), Some(error), "{name}={value}");
        assert_eq!(page.answer("state").as_deref(), Some("the state"));
        assert!(page.answer("error_description").is_some());
        // Only flows that the service ends have such a page.
        assert_eq!(page.answer("error_uri"), None);
    }
}

#[test]
fn without_svc_external_id_the_request_is_rejected_in_the_words_of_the_document() {
    let world = World::new();
    let mut browser = world.browser();
    let page = browser.ask("GET", &world.authorize(&[("svc_external_id", "")]), None);
    assert_eq!(page.answer("error").as_deref(), Some("invalid_request"));
    assert_eq!(
        page.answer("error_description").as_deref(),
        Some("svc_external_id is required")
    );
}

#[test]
fn svc_external_id_is_optional_at_link_auth() {
    let world = World::new();
    let mut browser = world.browser();
    let base = format!("{}/fhir/", world.base());
    let changes = [
        ("svc_external_id", ""),
        ("aud", base.as_str()),
        ("scope", "launch/patient openid patient/*.read"),
    ];
    browser.go(&format!("/link/auth?{}", world.query(&changes)));
    assert_eq!(browser.page.status, 200);
    let consent = world.consent();
    assert_eq!(consent.external_id, None);
    assert_eq!(
        (consent.made_by.name(), consent.scope.as_str()),
        ("link", "launch/patient")
    );
}

#[test]
fn an_error_without_a_state_has_none() {
    let world = World::new();
    let mut browser = world.browser();
    let page = browser.ask("GET", &world.authorize(&[("state", ""), ("scope", "x")]), None);
    assert_eq!(page.answer("state"), None);
}

#[test]
fn a_parameter_that_stands_twice_is_refused() {
    let world = World::new();
    let mut browser = world.browser();
    let page = browser.ask("GET", &format!("{}&scope=launch/patient", world.authorize(&[])), None);
    assert_eq!(page.answer("error").as_deref(), Some("invalid_request"));
    let twice = format!("{}&redirect_uri=https://evil.example", world.authorize(&[]));
    assert_eq!(browser.ask("GET", &twice, None).status, 400);
}

#[test]
fn svc_endpoint_id_names_an_endpoint_of_the_keys_mode_that_is_not_unavailable() {
    let world = World::new();
    let error = |changes: &[(&str, &str)]| {
        let mut browser = world.browser();
        let page = browser.ask("GET", &world.authorize(changes), None).clone();
        match page.header("location") {
            "/connect" => None,
            _ => page.answer("error"),
        }
    };
    let live = [("svc_endpoint_id", "lakeshore"), ("client_id", world.live.as_str())];
    assert_eq!(error(&live).as_deref(), Some("invalid_request"));
    // Such a place can only be found by a record locator.
    assert_eq!(
        error(&[("svc_endpoint_id", "northfield")]).as_deref(),
        Some("invalid_request")
    );
    assert_eq!(error(&[("svc_endpoint_id", "lakeshore")]), None);
    world
        .store()
        .endpoints()
        .set_status("lakeshore", EndpointStatus::Unavailable, Actor::Operator)
        .unwrap();
    assert_eq!(
        error(&[("svc_endpoint_id", "lakeshore")]).as_deref(),
        Some("invalid_request")
    );
}

#[test]
fn svc_endpoint_id_skips_the_choice() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    assert_eq!(browser.page.heading(), "Share your records from Lakeshore Health Plan?");
    assert!(!browser.page.text.contains("/connect/add"));
    assert!(world.connect(&mut browser).answer("code").is_some());
}

#[test]
fn loopback_and_custom_schemes_are_redirect_uris() {
    let world = World::new();
    for uri in ["http://127.0.0.1:51004/cb", "com.example.app:/cb"] {
        let mut browser = world.enter(&[("redirect_uri", uri)]);
        // Browsers apply a page's form policy to the redirects after the form.
        let policy = browser.page.header("content-security-policy").to_owned();
        let source = if uri.starts_with("http:") {
            "http://127.0.0.1:51004"
        } else {
            "com.example.app:"
        };
        assert!(
            policy.contains(&format!("form-action 'self' https: {source}")),
            "{policy}"
        );
        let page = browser.press("cancel", &[]);
        let expected = format!("{uri}?error=access_denied");
        assert!(page.header("location").starts_with(&expected), "{uri}");
    }
}

#[test]
fn a_flow_begins_with_a_consent_and_a_cookie() {
    let world = World::new();
    let mut browser = world.browser();
    let page = browser.ask("GET", &world.authorize(&[]), None);
    assert_eq!((page.status, page.header("location")), (303, "/connect"));
    let cookie = page.header("set-cookie");
    for part in ["svc_session=", "Path=/", "HttpOnly", "SameSite=Lax"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    // At a plain loopback address Safari and scripts would drop a `Secure` cookie.
    assert!(!cookie.contains("Secure"), "{cookie}");
    assert_eq!(browser.follow().status, 200);
    let consent = world.consent();
    assert_eq!(consent.state, ConsentState::Created);
    assert_eq!(consent.external_id.as_deref(), Some("user-1"));
    assert_eq!(
        (consent.usage.name(), consent.scope.as_str()),
        ("MULTIPLE", "launch/patient offline_access")
    );
    assert!(world.authorizations().is_empty());
}

#[test]
fn a_head_begins_nothing() {
    let world = World::new();
    let link = format!(
        "/link/start?publishable_key={}&origin=https://app.example&channel=c",
        world.client
    );
    let smart = format!("/link/auth?{}", world.query(&[]));
    for address in [world.authorize(&[]), smart, link] {
        let mut browser = world.browser();
        let page = browser.ask("HEAD", &address, None);
        assert_eq!((page.status, page.header("location")), (303, "/connect"), "{address}");
        assert!(browser.cookies.is_empty());
    }
    let page = world
        .browser()
        .ask("HEAD", &world.authorize(&[("scope", "x")]), None)
        .clone();
    assert_eq!(page.answer("error").as_deref(), Some("invalid_scope"));
    let made = world.store().audit().newest(None, 100).unwrap();
    assert!(made.iter().all(|entry| entry.action != "consent.created"));
}

#[test]
fn the_state_comes_back_whatever_it_is() {
    let world = World::new();
    let long = "s".repeat(4_096);
    for state in [
        "☃ &=+%#?",
        "a\0b",
        "\r\nSet-Cookie: a=b",
        "'; DROP TABLE consent; --",
        long.as_str(),
    ] {
        let refused = world
            .browser()
            .ask("GET", &world.authorize(&[("state", state), ("scope", "x")]), None)
            .clone();
        assert_eq!(refused.answer("error").as_deref(), Some("invalid_scope"), "{state:.20}");
        assert_eq!(refused.answer("state").as_deref(), Some(state));
        let mut browser = world.enter(&[("state", state)]);
        assert_eq!(browser.press("cancel", &[]).answer("state").as_deref(), Some(state));
    }
    // A `state` that is too long to store is still echoed with the refusal.
    let longer = "s".repeat(4_097);
    let refused = world
        .browser()
        .ask("GET", &world.authorize(&[("state", &longer)]), None)
        .clone();
    assert_eq!(refused.answer("error").as_deref(), Some("invalid_request"));
    assert_eq!(refused.answer("state"), Some(longer));
}

#[test]
fn svc_resume_goes_on_where_the_flow_was() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "cedarway")]);
    let consent = world.consent().id;
    browser.go(&world.authorize(&[("svc_resume", "true")]));
    assert_eq!(browser.page.heading(), "Share your records from Cedarway Mutual?");
    assert_eq!(world.consent().id, consent);
}

#[test]
fn svc_resume_with_other_parameters_or_without_the_cookie_begins_anew_silently() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let first = world.consent().id;
    let other = world.authorize(&[("svc_resume", "true"), ("svc_external_id", "user-2")]);
    browser.go(&other);
    assert_eq!(browser.page.status, 200);
    let second = world.consent().id;
    assert_ne!(second, first);
    browser.cookies.clear();
    browser.go(&other);
    assert_eq!(browser.page.status, 200);
    let third = world.consent().id;
    assert_ne!(third, second);
    // Without the parameter nothing is resumed.
    browser.go(&world.authorize(&[("svc_external_id", "user-2")]));
    assert_ne!(world.consent().id, third);
}

#[test]
fn a_flow_that_is_over_is_not_resumed() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let first = world.consent().id;
    let cookies = browser.cookies.clone();
    browser.press("cancel", &[]);
    browser.cookies = cookies;
    browser.go(&world.authorize(&[("svc_resume", "true")]));
    assert_eq!(browser.page.status, 200);
    assert_ne!(world.consent().id, first);
}

#[test]
fn what_applications_and_patients_write_is_shown_as_text() {
    let world = World::new();
    let odd = r#""><script>alert(1)</script>'; DROP TABLE consent; --"#;
    let mut browser = world.enter(&[("svc_external_id", odd), ("state", odd)]);
    // The application's name contains a tag.
    assert!(
        browser.page.text.contains("Well &#38; &#60;b&#62;Good"),
        "{}",
        browser.page.text
    );
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("q", odd)
        .finish();
    for address in [format!("/connect?{query}"), format!("/connect/organizations?{query}")] {
        let page = browser.go(&address);
        assert_eq!(page.status, 200);
        assert!(!page.text.contains("<script>alert"), "{}", page.text);
        assert!(page.text.contains("&#60;script&#62;alert"), "{}", page.text);
    }
    browser.go("/connect");
    browser.press("choose", &[("endpoint", odd)]);
    browser.go("/connect");
    assert_eq!(world.consent().external_id.as_deref(), Some(odd));
    let page = browser.press("cancel", &[]);
    assert_eq!(page.answer("state").as_deref(), Some(odd));
    let errors = browser.go("/errors/%22%3E%3Cscript%3Ealert(1)");
    assert_eq!(errors.status, 404);
    assert!(!errors.text.contains("<script>alert"));
}
