//! Patient portals (type CREDENTIALS): patients sign in at the portal's own page, and it grants access once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use tabularium::sync::client::{Client, Guard, HttpLimits};
use tabularium::sync::{Settings, Worker};

use super::super::browser::Browser;
use super::super::world::World;
use crate::harness::payer::Visit;

/// Connects the portal as the person of a number, finishes, and returns the token response.
fn shared(world: &World, person: u64) -> Value {
    let mut browser = world.enter(&[("svc_external_id", &format!("user-{person}"))]);
    browser.send("choose", &[("endpoint", "fernwood")]);
    let visit = Visit::of(&world.payer.person(person).user);
    let page = world.connect_as(&mut browser, &visit).clone();
    world.exchange(&page.answer("code").unwrap_or_else(|| panic!("{}", page.text)))
}

fn heading_of(browser: &Browser) -> String {
    browser.page.heading()
}

#[test]
fn a_portal_is_found_signed_in_to_and_shared_once() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let page = browser.go("/connect?q=patient+portal");
    assert!(page.text.contains("Fernwood Family Practice"), "{}", page.text);
    browser.send("choose", &[("endpoint", "fernwood")]);
    assert_eq!(
        heading_of(&browser),
        "Share your records from Fernwood Family Practice?"
    );
    let text = &browser.page.text;
    assert!(
        text.contains("can see them for 24 hours") && text.contains("gives out records only once"),
        "{text}"
    );
    assert_eq!(world.states(), ["fernwood CREDENTIALS CREATED"]);
    let there = browser.press("share", &[]).location();
    assert_eq!(world.states(), ["fernwood CREDENTIALS AUTHORIZING"]);
    let sent: HashMap<_, _> = there.query_pairs().into_owned().collect();
    assert!(!sent["scope"].contains("offline_access"), "{}", sent["scope"]);
    assert_eq!(sent["aud"], world.payer.fhir_base("fernwood"));
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    let page = browser.go(back.as_str()).clone();
    let tokens = world.exchange(&page.answer("code").unwrap());
    assert_eq!(world.states(), ["fernwood CREDENTIALS EXCHANGED"]);
    let authorization = world.authorizations().remove(0);
    assert_eq!(authorization.usage.name(), "ONE_TIME");
    assert!(authorization.data_until.is_some());
    let kept = world.store().credentials().get(&authorization.id).unwrap().unwrap();
    assert!(kept.refresh_token.is_none());
    let consent = world
        .server
        .get("/rest/consent", tokens["access_token"].as_str().unwrap())
        .json();
    let shown = &consent["patientAuthorizations"][0];
    assert_eq!(
        (
            &shown["type"],
            &shown["usage"],
            &shown["timeUntilMaxAuth"],
            &shown["endpoint"]["refreshable"]
        ),
        (
            &"CREDENTIALS".into(),
            &"ONE_TIME".into(),
            &"unsupported".into(),
            &false.into()
        ),
        "{shown}"
    );
}

#[test]
fn a_portal_is_one_of_several_and_is_named_beforehand() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_search_mode", "true"), ("svc_endpoint_id", "fernwood")]);
    assert_eq!(
        heading_of(&browser),
        "Share your records from Fernwood Family Practice?"
    );
    world.connect(&mut browser);
    assert_eq!(heading_of(&browser), "Your sources");
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    assert!(browser.press("finish", &[]).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["fernwood CREDENTIALS AUTHORIZED", "lakeshore OAUTH AUTHORIZED"]
    );
}

#[test]
fn who_leaves_a_portal_for_another_source_or_is_refused_there_has_not_shared_it() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "fernwood")]);
    let refusing = Visit {
        agree: false,
        ..Visit::of(&world.payer.person(0).user)
    };
    let page = world.connect_as(&mut browser, &refusing);
    assert_eq!(page.heading(), "Fernwood Family Practice didn’t share your records");
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "fernwood")]);
    browser.press("share", &[]);
    browser.go("/connect");
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert!(world.connect(&mut browser).answer("code").is_some());
    assert_eq!(
        world.states(),
        [
            "fernwood CREDENTIALS BOUNCED",
            "fernwood CREDENTIALS ABANDONED",
            "lakeshore OAUTH AUTHORIZED"
        ]
    );
}

#[test]
fn records_of_a_portal_are_fetched_and_are_their_own_patients_only() {
    let world = World::new();
    let [own, other] = [0, 1].map(|person| shared(&world, person));
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
    let deadline = Instant::now() + Duration::from_secs(120);
    let token = |tokens: &Value| tokens["access_token"].as_str().unwrap().to_owned();
    for tokens in [&own, &other] {
        let state = || {
            let introspected = world.server.get("/oauth/introspect", &token(tokens)).json();
            introspected["sync"]["state"].as_str().unwrap().to_owned()
        };
        while state() != "COMPLETED" {
            assert!(state() != "FAILED" && Instant::now() < deadline, "{}", state());
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }
    runtime.block_on(worker.stop());
    let ids = |tokens: &Value, resource_type: &str| -> Vec<String> {
        let found = world
            .server
            .get(&format!("/fhir/{resource_type}?_count=1000"), &token(tokens))
            .json();
        let entries = found["entry"].as_array().cloned().unwrap_or_default();
        entries
            .iter()
            .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
            .collect()
    };
    for resource_type in ["Patient", "Observation", "Condition"] {
        let (mine, theirs) = (ids(&own, resource_type), ids(&other, resource_type));
        assert!(!mine.is_empty() && !theirs.is_empty(), "{resource_type}");
        assert!(mine.iter().all(|id| !theirs.contains(id)), "{resource_type}");
        for (tokens, foreign) in [(&own, &theirs[0]), (&other, &mine[0])] {
            assert_eq!(
                world
                    .server
                    .get(&format!("/fhir/{resource_type}/{foreign}"), &token(tokens))
                    .status,
                404
            );
        }
    }
    assert_eq!(ids(&own, "Patient"), [own["patient"].as_str().unwrap()]);
}
