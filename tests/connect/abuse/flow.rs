//! What protects a patient's flow from others: form tokens, cookies, states, and redirect URIs.

use super::super::browser::Browser;
use super::super::world::World;
use crate::harness::payer::Visit;

const ACTIONS: [&str; 13] = [
    "choose",
    "share",
    "add",
    "hub",
    "places",
    "details",
    "search",
    "facilities",
    "identity",
    "finish",
    "cancel",
    "leave",
    "drop",
];

#[test]
fn every_form_needs_its_token() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let mut other = world.enter(&[("svc_external_id", "user-2")]);
    let foreign = other.page.values("csrf")[0].clone();
    for action in ACTIONS {
        for fields in [
            vec![],
            vec![("csrf", "")],
            vec![("csrf", "wrong")],
            vec![("csrf", foreign.as_str())],
        ] {
            let fields: Vec<_> = fields.into_iter().chain([("endpoint", "lakeshore")]).collect();
            let page = browser.ask("POST", &format!("/connect/{action}"), Some(&fields));
            assert_eq!(page.status, 403, "{action} {fields:?}");
        }
    }
    assert_eq!(browser.go("/connect").heading(), "Where are your records?");
    assert_eq!(other.go("/connect").heading(), "Where are your records?");
}

#[test]
fn a_form_is_sent_as_a_form() {
    let world = World::new();
    let browser = world.enter(&[]);
    let cookie = format!("svc_session={}", browser.cookies["svc_session"]);
    let headers = [("cookie", cookie.as_str()), ("content-type", "text/plain")];
    let answer = world.server.send("POST", "/connect/cancel", &headers, "csrf=x");
    assert_eq!(answer.status, 415);
}

#[test]
fn without_a_session_there_is_nothing_to_do() {
    let world = World::new();
    let enter = world.enter(&[]);
    let csrf = enter.page.values("csrf")[0].clone();
    let mut stranger = world.browser();
    assert_eq!(stranger.go("/connect").status, 410);
    for action in ACTIONS {
        let page = stranger.ask("POST", &format!("/connect/{action}"), Some(&[("csrf", csrf.as_str())]));
        assert_eq!(page.status, 410, "{action}");
    }
    stranger.cookies.insert("svc_session".to_owned(), "invented".to_owned());
    assert_eq!(stranger.go("/connect").status, 410);
    assert_eq!(stranger.go("/connect/progress").status, 410);
}

/// A browser on its way to a source, and the callback address for it.
fn away(world: &World) -> (Browser, String) {
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    let back = world.away(&mut browser, &Visit::of(&world.payer.person(0).user));
    (browser, back)
}

#[test]
fn an_answer_counts_in_the_browser_that_was_sent_only() {
    let world = World::new();
    let (mut browser, back) = away(&world);
    assert_eq!(world.browser().go(&back).status, 400);
    // A browser with another session is refused too.
    let mut other = world.enter(&[("svc_external_id", "user-2")]);
    assert_eq!(other.go(&back).status, 400);
    // The refused attempt did not use up the answer.
    assert!(browser.go(&back).answer("code").is_some());
}

#[test]
fn an_answer_counts_once() {
    let world = World::new();
    let (mut browser, back) = away(&world);
    let cookies = browser.cookies.clone();
    assert!(browser.go(&back).answer("code").is_some());
    browser.cookies = cookies;
    let again = browser.go(&back);
    assert_eq!(again.header("location"), "");
    assert!(again.status >= 400, "{}", again.text);
}

#[test]
fn an_answer_counts_from_the_source_that_was_asked_only() {
    let world = World::new();
    let (mut browser, back) = away(&world);
    for other in ["cedarway", "hilltop", "nowhere"] {
        let mixed = back.replace("/callback/lakeshore", &format!("/callback/{other}"));
        assert_ne!(mixed, back);
        assert_eq!(browser.go(&mixed).status, 400, "{other}");
    }
    let identity = back.replace("/callback/lakeshore", "/identity/truename");
    assert_eq!(browser.go(&identity).status, 400);
    assert!(browser.go(&back).answer("code").is_some());
}

#[test]
fn an_answer_needs_a_state_that_was_given_out() {
    let world = World::new();
    let (mut browser, back) = away(&world);
    let code = url::Url::parse(&back).unwrap();
    let code = code
        .query_pairs()
        .find(|(name, _)| name == "code")
        .unwrap()
        .1
        .into_owned();
    for query in [
        format!("code={code}"),
        format!("code={code}&state="),
        format!("code={code}&state=invented"),
        format!("code={code}&state=%27%20OR%201=1%20--"),
        String::new(),
    ] {
        assert_eq!(
            browser.go(&format!("/connect/callback/lakeshore?{query}")).status,
            400,
            "{query}"
        );
    }
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZING"]);
}

#[test]
fn an_answer_that_names_another_issuer_is_not_taken() {
    let world = World::new();
    let (mut browser, back) = away(&world);
    let mut mixed = url::Url::parse(&back).unwrap();
    let kept: Vec<(String, String)> = mixed
        .query_pairs()
        .into_owned()
        .filter(|(name, _)| name != "iss")
        .collect();
    mixed
        .query_pairs_mut()
        .clear()
        .extend_pairs(kept)
        .append_pair("iss", "https://evil.example");
    browser.go(mixed.as_str());
    assert_eq!(browser.page.heading(), "We can’t reach Lakeshore Health Plan");
    assert_eq!(world.states(), ["lakeshore OAUTH ERRORED"]);
}

#[test]
fn an_answer_without_a_code_is_a_failure_of_the_source() {
    let world = World::new();
    let (mut browser, back) = away(&world);
    let mut odd = url::Url::parse(&back).unwrap();
    let kept: Vec<(String, String)> = odd
        .query_pairs()
        .into_owned()
        .filter(|(name, _)| name != "code")
        .collect();
    odd.query_pairs_mut().clear().extend_pairs(kept);
    browser.go(odd.as_str());
    assert_eq!(world.states(), ["lakeshore OAUTH ERRORED"]);
    // The source refuses a code that it does not know.
    browser.press("share", &[]);
    let there = browser.page.location();
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    let wrong = back.as_str().replace("code=", "code=x");
    browser.go(&wrong);
    assert_eq!(world.states(), ["lakeshore OAUTH ERRORED", "lakeshore OAUTH ERRORED"]);
}

#[test]
fn a_source_that_was_left_for_another_cannot_be_come_back_from() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let back = world.away(&mut browser, &Visit::of(&world.payer.person(0).user));
    browser.go("/connect");
    browser.send("add", &[]);
    browser.go(&back);
    assert_eq!(browser.page.heading(), "Where are your records?");
    assert_eq!(world.states(), ["lakeshore OAUTH ABANDONED"]);
}

#[test]
fn organizations_that_are_not_offered_cannot_be_chosen() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    for endpoint in ["northfield", "nowhere", "", "' OR 1=1 --"] {
        browser.go("/connect");
        browser.send("choose", &[("endpoint", endpoint)]);
        assert_eq!(browser.page.heading(), "Where are your records?", "{endpoint}");
    }
    assert!(world.authorizations().is_empty());
}
