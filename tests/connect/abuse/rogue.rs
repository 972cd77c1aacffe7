//! Sources that send false answers during a flow, and forged callbacks.

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationType, EndpointStatus, IDLE_SECONDS, NewEndpoint, Organization};
use tabularium::lake::Mode;
use url::Url;

use super::super::browser::Browser;
use super::super::world::World;
use crate::harness::rogue::{Rogue, Said};

/// A source with this configuration and token response, in which `BASE` stands for its address.
fn source(configuration: Value, token: Said) -> Rogue {
    Rogue::start(move |asked, base| match asked.path.as_str() {
        "/fhir/.well-known/smart-configuration" => {
            Said::text("application/json", &configuration.to_string().replace("BASE", base))
        }
        "/token" => token.clone(),
        _ => Said::status(404),
    })
}

fn sound() -> Value {
    json!({"authorization_endpoint": "BASE/authorize", "token_endpoint": "BASE/token"})
}

fn granting(token: Value) -> Said {
    Said::json(&token)
}

/// Lists the source, and opens a browser that is asked to agree to it.
fn entered(world: &World, rogue: &Rogue) -> Browser {
    let organization = Organization {
        id: "rogue".to_owned(),
        name: "Rogue".to_owned(),
        note: String::new(),
        organization_type: "PAYER".to_owned(),
    };
    world
        .store()
        .organizations()
        .save(&organization, Actor::Operator)
        .unwrap();
    let endpoint = NewEndpoint {
        id: Some("rogue"),
        organization: "rogue",
        name: "rogue",
        mode: Mode::Test,
        label: &["Rogue".to_owned()],
        authorization_type: AuthorizationType::Oauth,
        refreshable: true,
        refresh_valid_for: None,
        max_auth_period: None,
        status: EndpointStatus::Live,
        resources: &[],
        fhir_base: &rogue.fhir(),
        configuration: None,
        client_id: "us",
        client_secret: None,
        scope: "launch/patient patient/*.rs",
        identifier_system: "urn:rogue",
    };
    world.store().endpoints().save(&endpoint, Actor::Operator).unwrap();
    world.enter(&[("svc_endpoint_id", "rogue")])
}

/// The `state` in the redirect to the source.
fn sent(browser: &mut Browser) -> String {
    let there = browser.press("share", &[]).location();
    let mut pairs = there.query_pairs();
    pairs.find(|(name, _)| name == "state").unwrap().1.into_owned()
}

fn back(query: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    format!("/connect/callback/rogue?{query}")
}

#[test]
fn a_configuration_leads_nowhere_that_may_not_be_called() {
    for (name, address) in [
        ("token_endpoint", "http://169.254.169.254/latest/meta-data"),
        ("token_endpoint", "file:///etc/passwd"),
        ("token_endpoint", "gopher://127.0.0.1/"),
        ("token_endpoint", "http://user:word@127.0.0.1/"),
        ("token_endpoint", "http://0.0.0.0/"),
        ("token_endpoint", "/token"),
        ("authorization_endpoint", "http://169.254.169.254/"),
        ("authorization_endpoint", "javascript:alert(1)"),
        ("authorization_endpoint", "data:text/html,x"),
        ("authorization_endpoint", "//elsewhere.example/"),
    ] {
        let mut configuration = sound();
        configuration[name] = json!(address);
        let rogue = source(configuration, Said::status(500));
        let world = World::new();
        let mut browser = entered(&world, &rogue);
        browser.send("share", &[]);
        assert_eq!(browser.page.heading(), "We can’t reach Rogue", "{name} {address}");
        assert_eq!(world.states(), ["rogue OAUTH ERRORED"]);
    }
}

#[test]
fn a_configuration_that_redirects_into_the_network_or_without_end_is_none() {
    for to in [
        "http://169.254.169.254/",
        "file:///etc/passwd",
        "/fhir/.well-known/smart-configuration",
        "http://[fe80::1]/",
    ] {
        let rogue = Rogue::start(move |_, _| Said::redirect(to));
        let world = World::new();
        let mut browser = entered(&world, &rogue);
        browser.send("share", &[]);
        assert_eq!(browser.page.heading(), "We can’t reach Rogue", "{to}");
        // The statement, the configuration, and the statement instead of it, each with five redirects.
        assert!(rogue.asked().len() <= 18, "{}", rogue.asked().len());
    }
}

#[test]
fn a_configuration_that_is_too_large_is_not_kept() {
    let mut configuration = sound();
    configuration["scopes_supported"] = json!(vec!["x".repeat(1_000); 1_500]);
    let rogue = source(configuration, Said::status(500));
    let world = World::new();
    let mut browser = entered(&world, &rogue);
    browser.send("share", &[]);
    assert_eq!(browser.page.heading(), "We can’t reach Rogue");
    assert_eq!(
        world.store().endpoints().get("rogue").unwrap().unwrap().configuration,
        None
    );
}

#[test]
fn a_token_is_asked_for_where_the_patient_was_sent_and_goes_nowhere_else() {
    let other = Rogue::start(|_, _| granting(json!({"access_token": "a", "patient": "p"})));
    let to = format!("{}/token", other.base);
    let rogue = source(sound(), Said::status(307).with("location", &to));
    let world = World::new();
    let mut browser = entered(&world, &rogue);
    let state = sent(&mut browser);
    browser.go(&back(&[("state", &state), ("code", "c")]));
    assert_eq!(browser.page.heading(), "We can’t reach Rogue");
    assert!(other.asked().is_empty());
    assert!(
        rogue
            .asked()
            .iter()
            .any(|asked| asked.path == "/token" && asked.body.contains("code_verifier"))
    );
}

#[test]
fn what_is_no_grant_connects_nothing() {
    let long = "p".repeat(300);
    for (token, heading) in [
        (json!({}), "We can’t reach Rogue"),
        (json!({"access_token": "", "patient": "p"}), "We can’t reach Rogue"),
        (json!({"access_token": ["a"], "patient": "p"}), "We can’t reach Rogue"),
        (
            json!({"access_token": "a", "token_type": "mac", "patient": "p"}),
            "We can’t reach Rogue",
        ),
        (
            json!({"access_token": "a", "token_type": "Bearer"}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": ""}),
            "Rogue has no records for you",
        ),
        // A lenient source would answer a search for an empty Patient with everybody's records.
        (
            json!({"access_token": "a", "patient": "Patient/"}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": ".."}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": "a\nb"}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": "a?b=c"}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": long}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": ["p"]}),
            "Rogue has no records for you",
        ),
        (
            json!({"access_token": "a", "patient": 7}),
            "Rogue has no records for you",
        ),
    ] {
        let rogue = source(sound(), granting(token.clone()));
        let world = World::new();
        let mut browser = entered(&world, &rogue);
        let state = sent(&mut browser);
        browser.go(&back(&[("state", &state), ("code", "c")]));
        let shown = browser.page.heading();
        // The page for a missing Patient has its own words.
        match heading {
            "We can’t reach Rogue" => assert_eq!(shown, heading, "{token}"),
            _ => assert_eq!(world.states(), ["rogue OAUTH BOUNCED"], "{token} {shown}"),
        }
        assert!(world.authorizations().iter().all(|one| one.source_patient.is_none()));
    }
}

#[test]
fn odd_times_and_scopes_of_a_grant_do_no_harm() {
    for token in [
        json!({"access_token": "a", "patient": "p", "expires_in": -1}),
        json!({"access_token": "a", "patient": "p", "expires_in": i64::MAX}),
        json!({"access_token": "a", "patient": "p", "expires_in": u64::MAX}),
        json!({"access_token": "a", "patient": "p", "expires_in": "soon", "scope": "<script>alert(1)</script>"}),
        json!({"access_token": "a", "patient": "p", "expires_in": 1e300, "refresh_token": {}}),
    ] {
        let rogue = source(sound(), granting(token.clone()));
        let world = World::new();
        let mut browser = entered(&world, &rogue);
        let state = sent(&mut browser);
        browser.go(&back(&[("state", &state), ("code", "c")]));
        let code = browser.page.answer("code").unwrap();
        let granted = world.exchange(&code);
        assert_eq!(world.states(), ["rogue OAUTH EXCHANGED"], "{token}");
        let answer = world
            .server
            .get("/rest/consent", granted["access_token"].as_str().unwrap());
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(!answer.header("content-type").contains("html"));
    }
}

#[test]
fn what_a_source_says_of_an_error_is_shown_to_nobody() {
    for error in [
        "access_denied",
        "<img src=x onerror=alert(1)>",
        "a\r\nSet-Cookie: x=y",
        "server_error",
    ] {
        let rogue = source(sound(), Said::status(500));
        let world = World::new();
        let mut browser = entered(&world, &rogue);
        let state = sent(&mut browser);
        let answer = [
            ("state", state.as_str()),
            ("error", error),
            ("error_description", "<script>alert(1)</script>\r\nX: y"),
            ("error_uri", "javascript:alert(1)"),
        ];
        browser.go(&back(&answer));
        for foreign in ["alert(1)", "onerror", "javascript:"] {
            assert!(!browser.page.text.contains(foreign), "{}", browser.page.text);
        }
        assert!(!browser.page.headers.contains_key("x"));
        assert_eq!(rogue.count("/token"), 0);
        let state = if error == "access_denied" { "BOUNCED" } else { "ERRORED" };
        assert_eq!(world.states(), [format!("rogue OAUTH {state}")]);
    }
}

#[test]
fn of_concurrent_answers_one_counts() {
    let rogue = source(sound(), granting(json!({"access_token": "a", "patient": "p"})));
    let world = World::new();
    let mut browser = entered(&world, &rogue);
    let state = sent(&mut browser);
    let (base, cookies) = (world.base(), browser.cookies.clone());
    let address = back(&[("state", &state), ("code", "c")]);
    let codes: Vec<bool> = std::thread::scope(|scope| {
        let come = || {
            let mut one = Browser::new(&base);
            one.cookies = cookies.clone();
            let page = one.ask("GET", &address, None);
            Url::parse(page.header("location")).is_ok_and(|url| url.query_pairs().any(|(name, _)| name == "code"))
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(come)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code).count(), 1);
    assert_eq!(rogue.count("/token"), 1);
    assert_eq!(world.states(), ["rogue OAUTH AUTHORIZED"]);
}

#[test]
fn an_answer_after_the_end_asks_the_source_for_nothing() {
    let rogue = source(sound(), granting(json!({"access_token": "a", "patient": "p"})));
    let world = World::new();
    // The patient cancelled.
    let mut browser = entered(&world, &rogue);
    let (state, cookies) = (sent(&mut browser), browser.cookies.clone());
    browser.go("/connect");
    browser.press("cancel", &[]);
    browser.cookies = cookies;
    assert!(browser.go(&back(&[("state", &state), ("code", "c")])).status >= 400);
    assert_eq!(world.states(), ["rogue OAUTH ABANDONED"]);
    // The session timed out.
    let mut browser = world.enter(&[("svc_endpoint_id", "rogue")]);
    let state = sent(&mut browser);
    world.store().clock().advance(IDLE_SECONDS + 1);
    browser.ask("GET", &back(&[("state", &state), ("code", "c")]), None);
    assert!(browser.page.answer("error").is_some());
    // The patient chose another source.
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "rogue")]);
    let state = sent(&mut browser);
    browser.go("/connect");
    browser.send("add", &[]);
    browser.go(&back(&[("state", &state), ("code", "c")]));
    assert_eq!(world.states(), ["rogue OAUTH ABANDONED"]);
    assert_eq!(rogue.count("/token"), 0);
}

#[test]
fn a_state_or_code_of_another_patient_is_of_no_use() {
    let rogue = source(sound(), granting(json!({"access_token": "a", "patient": "p"})));
    let world = World::new();
    let mut thief = entered(&world, &rogue);
    let own = sent(&mut thief);
    let mut victim = world.enter(&[("svc_endpoint_id", "rogue"), ("svc_external_id", "user-2")]);
    sent(&mut victim);
    // The thief's answer in the victim's browser would put records into the wrong consent.
    assert_eq!(
        victim.go(&back(&[("state", &own), ("code", "of-the-thief")])).status,
        400
    );
    assert_eq!(rogue.count("/token"), 0);
    assert_eq!(world.states(), ["rogue OAUTH AUTHORIZING"]);
    // A stolen code is sent to the source with the thief's own verifier, so the source refuses it.
    thief.go(&back(&[("state", &own), ("code", "of-the-victim")]));
    let asked = rogue.asked();
    let exchange = asked.iter().find(|asked| asked.path == "/token").unwrap();
    assert!(exchange.body.contains("code=of-the-victim") && exchange.body.contains("code_verifier="));
}
