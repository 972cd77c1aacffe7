//! The flow with one source: choose, review, sign in there, and return with a code.

use std::collections::HashMap;

use tabularium::consent::ConsentState;

use super::super::world::World;
use crate::harness::payer::{Payer, Visit};

#[test]
fn a_patient_connects_one_organization_and_the_application_gets_a_code() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    assert_eq!(browser.page.heading(), "Where are your records?");
    assert!(browser.page.text.contains("Lakeshore Health Plan"));
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(browser.page.heading(), "Share your records from Lakeshore Health Plan?");
    assert_eq!(world.states(), ["lakeshore OAUTH CREATED"]);
    let there = browser.press("share", &[]).location();
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZING"]);
    let sent: HashMap<_, _> = there.query_pairs().into_owned().collect();
    assert_eq!(sent["aud"], world.payer.fhir_base("lakeshore"));
    assert_eq!(
        sent["redirect_uri"],
        format!("{}/connect/callback/lakeshore", world.base())
    );
    assert_eq!(sent["code_challenge_method"], "S256");
    let person = world.payer.person(0);
    let back = world.payer.log_in(there.as_str(), &person.user);
    let page = browser.go(back.as_str()).clone();
    assert_eq!(page.status, 303, "{}", page.text);
    assert!(
        page.header("location")
            .starts_with("https://app.example/callback?tenant=7&code=")
    );
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    assert_eq!(page.answer("error"), None);
    let consent = world.consent();
    assert_eq!(consent.state, ConsentState::Authorized);
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZED"]);
    let authorization = world.authorizations().remove(0);
    assert_eq!(authorization.usage.name(), "MULTIPLE");
    assert_eq!(authorization.source_patient.as_deref(), Some(person.patient.as_str()));
    let patient = authorization.patient.unwrap();
    assert_eq!(consent.patients, [patient.as_str()]);
    let kept = world.store().credentials().get(&authorization.id).unwrap().unwrap();
    assert!(kept.refresh_token.is_some());
    // The browser keeps only the name of the ended session.
    assert_eq!(browser.cookies.keys().collect::<Vec<_>>(), ["svc_left"]);
    assert_eq!(browser.go("/connect").status, 410);
    let tokens = world.exchange(&page.answer("code").unwrap());
    assert_eq!(tokens["patient"], *patient);
    assert_eq!(world.consent().state, ConsentState::Exchanged);
}

#[test]
fn an_organization_that_is_chosen_twice_is_chosen_once() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    // The second request of a double click has the first page's token.
    let csrf = browser.page.values("csrf")[0].clone();
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let again = [("csrf", csrf.as_str()), ("endpoint", "lakeshore")];
    browser.ask("POST", "/connect/choose", Some(&again));
    assert_eq!(
        browser.follow().heading(),
        "Share your records from Lakeshore Health Plan?"
    );
    assert_eq!(world.states(), ["lakeshore OAUTH CREATED"]);
}

#[test]
fn organizations_are_found_by_name_and_by_brand() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    for (query, expected) in [
        ("cedar", "Cedarway Mutual"),
        ("myriver", "Riverbend Medical Center"),
        ("SENIOR+adv", "Lakeshore Health Plan"),
    ] {
        let page = browser.go(&format!("/connect?q={query}"));
        assert!(page.text.contains("1 place"), "{query}: {}", page.text);
        assert!(page.text.contains(expected), "{query}: {}", page.text);
    }
    let nothing = browser.go("/connect?q=zzz");
    assert!(nothing.text.contains("We found nothing for “zzz”"));
    // Places without a sign-in page cannot be chosen here.
    assert!(!browser.go("/connect?q=north").text.contains("Northfield Hospital"));
}

#[test]
fn another_organization_may_be_chosen_before_one_agrees() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    browser.send("add", &[]);
    assert_eq!(browser.page.heading(), "Where are your records?");
    browser.send("choose", &[("endpoint", "cedarway")]);
    assert!(world.connect(&mut browser).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH ABANDONED", "cedarway OAUTH AUTHORIZED"]
    );
}

#[test]
fn multiple_usage_at_an_endpoint_that_is_not_refreshable_becomes_one_time() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "hilltop")]);
    assert!(
        browser.page.text.contains("gives out records only once"),
        "{}",
        browser.page.text
    );
    world.connect(&mut browser);
    assert_eq!(world.authorizations()[0].usage.name(), "ONE_TIME");
}

#[test]
fn what_a_source_does_not_have_is_not_said_to_be_shared() {
    let world = World::new();
    let plan = world.enter(&[("svc_endpoint_id", "lakeshore")]).page.text;
    assert!(plan.contains("coverage and claims and what was paid"), "{plan}");
    assert!(!plan.contains("vaccines") && !plan.contains("test results"), "{plan}");
    assert!(!plan.contains("Not every place"), "{plan}");
    let provider = world.enter(&[("svc_endpoint_id", "riverbend")]).page.text;
    assert!(
        provider.contains("vaccines") && provider.contains("test results"),
        "{provider}"
    );
    assert!(
        !provider.contains("Insurance") && !provider.contains("claims"),
        "{provider}"
    );
}

#[test]
fn whoever_goes_back_in_the_browser_finds_the_organizations_until_one_is_connected() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_search_mode", "true")]);
    let at = browser.ask("GET", "/connect", None).header("location").to_owned();
    assert_eq!(at, "/connect/find");
    browser.follow();
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(browser.page.heading(), "Share your records from Lakeshore Health Plan?");
    assert_eq!(browser.go(&at).heading(), "Where are your records?");
    // Opening the page changed nothing.
    assert_eq!(
        browser.go("/connect").heading(),
        "Share your records from Lakeshore Health Plan?"
    );
    browser.go(&at);
    browser.send("choose", &[("endpoint", "riverbend")]);
    world.connect(&mut browser);
    assert_eq!(browser.go(&at).heading(), "Your sources");
    // If the application named the source, there is none to choose.
    let mut named = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    assert_eq!(
        named.go(&at).heading(),
        "Share your records from Lakeshore Health Plan?"
    );
}

#[test]
fn how_long_records_are_shared_is_said_in_plain_words() {
    let world = World::new();
    let ongoing = world.enter(&[("svc_endpoint_id", "lakeshore")]).page.text;
    assert!(ongoing.contains("can keep getting new records"), "{ongoing}");
    assert!(ongoing.contains("After 90 days"), "{ongoing}");
    let changes = [("svc_endpoint_id", "lakeshore"), ("scope", "launch/patient")];
    let once = world.enter(&changes).page.text;
    assert!(once.contains("can see them for 24 hours"), "{once}");
    assert!(!once.contains("gives out records only once"), "{once}");
}

#[test]
fn a_wrong_login_stays_at_the_source_and_the_session_open() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    let there = browser.press("share", &[]).location();
    let login = world.payer.get(there.as_str(), None).location().unwrap();
    let flow = world.payer.get(&login, None).hidden("flow");
    let fields = [("flow", flow.as_str()), ("user", "nobody1"), ("password", "wrong")];
    let wrong = world.payer.form(&login, &fields);
    let leads = wrong.location().unwrap_or_default();
    assert!(!leads.starts_with(&world.base()), "{leads}");
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZING"]);
    // A patient who came back without an answer can go there again.
    browser.go("/connect");
    assert!(world.connect(&mut browser).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH ABANDONED", "lakeshore OAUTH AUTHORIZED"]
    );
}

#[test]
fn what_the_patient_leaves_out_at_the_source_is_not_granted() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "riverbend")]);
    let visit = Visit {
        types: Some(vec!["Patient".to_owned(), "Condition".to_owned()]),
        offline: false,
        ..Visit::of(&world.payer.person(0).user)
    };
    assert!(world.connect_as(&mut browser, &visit).answer("code").is_some());
    let authorization = world.authorizations().remove(0);
    let asked = authorization.scope_requested.unwrap();
    let granted = authorization.scope_granted.unwrap();
    assert!(asked.contains("patient/*.rs"), "{asked}");
    assert!(granted.contains("Condition"), "{granted}");
    assert!(
        !granted.contains("Observation") && !granted.contains("offline"),
        "{granted}"
    );
    assert!(!authorization.refreshable);
}

#[test]
fn a_refusal_at_the_source_bounces_and_may_be_tried_again() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let visit = Visit {
        agree: false,
        ..Visit::of(&world.payer.person(0).user)
    };
    let page = world.connect_as(&mut browser, &visit);
    assert_eq!(page.heading(), "Lakeshore Health Plan didn’t share your records");
    assert_eq!(world.states(), ["lakeshore OAUTH BOUNCED"]);
    assert!(world.connect(&mut browser).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH BOUNCED", "lakeshore OAUTH AUTHORIZED"]
    );
}

#[test]
fn a_source_that_fails_is_an_error_and_another_one_may_be_chosen() {
    let world = World::of(Payer::with(12, &["lakeshore.fail_token=true"]));
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let page = world.connect(&mut browser);
    assert_eq!(page.heading(), "We can’t reach Lakeshore Health Plan");
    assert_eq!(world.states(), ["lakeshore OAUTH ERRORED"]);
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "riverbend")]);
    assert!(world.connect(&mut browser).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH ERRORED", "riverbend OAUTH AUTHORIZED"]
    );
}

#[test]
fn a_source_that_cannot_be_reached_is_said_before_anybody_is_sent_there() {
    let mut world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    world.payer = Payer::start(1);
    let page = browser.send("share", &[]);
    assert_eq!(page.heading(), "We can’t reach Lakeshore Health Plan");
    assert_eq!(world.states(), ["lakeshore OAUTH ERRORED"]);
}
