//! IAL2 mode: the patient proves who they are, and a record locator finds the places with their records.

use std::time::{Duration, Instant};

use tabularium::consent::{ConsentState, JobState, Usage};
use tabularium::sync::client::{Client, Guard, HttpLimits};
use tabularium::sync::{Settings, Worker};

use super::super::browser::{Browser, Page};
use super::super::world::World;
use crate::harness::payer::{Payer, Visit};

pub(in crate::connect) const IDENTITY: (&str, &str) = ("svc_ial2_mode", "true");

/// Signs in at the identity provider as the person of a number, and comes back.
pub(in crate::connect) fn verified<'b>(world: &World, browser: &'b mut Browser, person: u64) -> &'b Page {
    let there = browser.press("identity", &[("provider", "truename")]).location();
    assert!(there.as_str().contains("nonce="), "{there}");
    let back = world.payer.log_in(there.as_str(), &world.payer.person(person).user);
    browser.go(back.as_str())
}

#[test]
fn a_verified_patient_connects_the_places_that_were_found() {
    let world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    assert_eq!(browser.page.heading(), "First, show that it’s you");
    // The third person was seen at three places.
    let page = verified(&world, &mut browser, 2);
    assert_eq!(page.heading(), "These places have records of yours", "{}", page.text);
    let found = page.values("facility");
    assert_eq!(found.len(), 3);
    browser.send("facilities", &[("facility", &found[0]), ("facility", &found[1])]);
    assert_eq!(browser.page.heading(), "Your sources");
    let mut expected: Vec<String> = found[..2].iter().map(|id| format!("{id} IAL2 AUTHORIZED")).collect();
    expected.sort();
    let mut states = world.states();
    states.sort();
    assert_eq!(states, expected);
    let all = world.authorizations();
    assert!(
        all.iter()
            .all(|one| one.identity_provider.as_deref() == Some("truename"))
    );
    // A health plan is added by hand.
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    let page = browser.press("finish", &[]).clone();
    world.exchange(&page.answer("code").unwrap());
    assert_eq!(world.consent().state, ConsentState::Exchanged);
    assert_eq!(world.authorizations()[2].identity_provider, None);
}

#[test]
fn a_verified_patient_whom_nobody_knows_ends_without_records() {
    let world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    // The tenth person was seen at no place.
    let page = verified(&world, &mut browser, 9);
    assert_eq!(page.heading(), "We found no records for you", "{}", page.text);
    let page = browser.press("leave", &[]);
    assert_eq!(page.answer("error").as_deref(), Some("access_denied"));
    assert_eq!(
        page.answer("error_description").as_deref(),
        Some("No records found for this patient")
    );
    assert_eq!(page.answer("error_uri"), None);
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}

#[test]
fn a_verified_patient_whom_nobody_knows_may_add_sources_by_hand() {
    let world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    verified(&world, &mut browser, 9);
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn who_is_not_verified_gets_no_further() {
    let world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    let csrf = browser.page.values("csrf")[0].clone();
    for action in ["add", "hub", "choose", "places", "facilities", "finish", "details"] {
        let fields = [
            ("csrf", csrf.as_str()),
            ("endpoint", "lakeshore"),
            ("facility", "northfield"),
        ];
        browser.ask("POST", &format!("/connect/{action}"), Some(&fields));
        assert_eq!(
            browser.follow().heading(),
            "First, show that it’s you",
            "{action}: {}",
            browser.page.text
        );
    }
    assert!(world.authorizations().is_empty());
}

#[test]
fn who_does_not_agree_at_the_identity_provider_may_try_again() {
    let world = World::of(Payer::with(12, &["identity.refuse_consent=true"]));
    let mut browser = world.enter(&[IDENTITY]);
    let there = browser.press("identity", &[("provider", "truename")]).location();
    let visit = Visit::of(&world.payer.person(0).user);
    let back = world.payer.visit(there.as_str(), &visit);
    browser.go(back.as_str());
    assert!(
        browser.page.text.contains("We couldn’t confirm that it’s you"),
        "{}",
        browser.page.text
    );
    // The page showed "{} did not confirm who you are." The page's script fills in the time.
    let text = browser.page.text.replace("{time}", "");
    assert!(
        text.contains("Truename Identity didn’t confirm who you are") && !text.contains('{'),
        "{text}"
    );
    world
        .payer
        .turn("identity", &serde_json::json!({"refuse_consent": false}));
    assert_eq!(
        verified(&world, &mut browser, 0).heading(),
        "These places have records of yours"
    );
}

#[test]
fn an_identity_provider_that_does_not_answer_is_named() {
    let mut world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    world.payer = Payer::start(1);
    browser.send("identity", &[("provider", "truename")]);
    let text = browser.page.text.replace("{time}", "");
    assert!(
        text.contains("We can’t reach Truename Identity") && !text.contains('{'),
        "{text}"
    );
}

#[test]
fn none_of_the_places_chosen_is_said() {
    let world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    verified(&world, &mut browser, 2);
    for fields in [vec![], vec![("facility", "lakeshore")], vec![("facility", "nowhere")]] {
        let page = browser.press("facilities", &fields);
        assert_eq!(page.status, 422);
        assert!(page.text.contains("Choose at least one place"));
    }
    browser.send("hub", &[]);
    assert!(browser.page.text.contains("Nothing is connected yet"));
    browser.send("places", &[]);
    assert_eq!(browser.page.heading(), "These places have records of yours");
}

#[test]
fn access_by_a_verified_identity_that_ends_before_the_records_are_there_is_asked_for_again() {
    // The ID token was deleted with the session. So a sync that outlived the first access token failed permanently.
    let world = World::new();
    let mut browser = world.enter(&[IDENTITY]);
    verified(&world, &mut browser, 2);
    let found = browser.page.values("facility");
    browser.send("facilities", &[("facility", &found[0])]);
    let page = browser.press("finish", &[]).clone();
    world.exchange(&page.answer("code").unwrap());
    let authorization = world.authorizations().remove(0);
    assert_eq!(authorization.usage, Usage::OneTime);
    world.payer.expire(&found[0]);

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let sources = Client::new(Guard::Private, HttpLimits::default()).unwrap();
    let worker = {
        let _runtime = runtime.enter();
        let (store, lake) = (world.store().clone(), world.server.lake.clone());
        Worker::start(store, lake, sources, &world.base(), Settings::default())
    };
    let job = || {
        world
            .store()
            .jobs()
            .of_authorization(&authorization.id)
            .unwrap()
            .remove(0)
    };
    let deadline = Instant::now() + Duration::from_secs(120);
    while job().state.is_open() {
        assert!(Instant::now() < deadline, "{:?}", job());
        std::thread::park_timeout(Duration::from_millis(5));
    }
    runtime.block_on(worker.stop());
    assert_eq!(job().state, JobState::Completed, "{:?}", job().failure);
    assert_eq!(world.payer.requests(&found[0])["token"], 2);
    // No further sync needs the credential, so it is deleted.
    assert_eq!(world.store().credentials().get(&authorization.id).unwrap(), None);
}
