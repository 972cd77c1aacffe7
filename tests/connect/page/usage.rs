//! How long records are shared: all pages and answers say what the source grants.

use serde_json::{Value, json};
use tabularium::consent::Usage;

use super::super::browser::Browser;
use super::super::world::World;
use crate::harness::payer::{Visit, parameter};

const SEARCH: (&str, &str) = ("svc_search_mode", "true");
const ONGOING: &str = "can keep getting new records without asking you again. That ends when you or the app stop it, or when the app \
                       doesn’t renew its access for 90 days. Then we delete our copy.";
const ONCE: &str = "can see them for 24 hours. Then we delete our copy.";
const DAY: i64 = 86_400;

fn once(world: &World) -> Visit {
    Visit {
        offline: false,
        ..Visit::of(&world.payer.person(0).user)
    }
}

fn get(world: &World, path: &str, tokens: &Value) -> Value {
    let answer = world.server.get(path, tokens["access_token"].as_str().unwrap());
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

/// Changes the store directly, as a worker or an operator would.
fn sql(world: &World, sql: &str, id: &str) {
    let store = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    store.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    assert_eq!(store.execute(sql, [id]).unwrap(), 1);
}

#[test]
fn usage_follows_what_the_source_grants() {
    // Without a refresh token the usage stayed MULTIPLE. The page said 24 hours, but the records were there after 81
    // days.
    let lasting = Visit::of("");
    let declined = Visit {
        offline: false,
        ..Visit::of("")
    };
    for (knobs, visit, usage) in [
        (json!({}), &lasting, "MULTIPLE"),
        // The patient chose one-time sharing.
        (json!({}), &declined, "ONE_TIME"),
        // The source does not offer a refresh token.
        (json!({"refreshable": false}), &lasting, "ONE_TIME"),
        // The source promises a refresh token but sends none.
        (json!({"no_refresh_token": true}), &lasting, "ONE_TIME"),
    ] {
        let world = World::new();
        world.payer.turn("lakeshore", &knobs);
        let visit = Visit {
            user: world.payer.person(0).user,
            ..visit.clone()
        };
        let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
        let code = world.connect_as(&mut browser, &visit).answer("code").unwrap();
        let tokens = world.exchange(&code);
        let lasts = usage == "MULTIPLE";
        let scope = if lasts {
            "launch/patient offline_access"
        } else {
            "launch/patient"
        };
        assert_eq!(tokens["scope"], scope, "{knobs}");
        assert_eq!(get(&world, "/oauth/introspect", &tokens)["usage"], usage, "{knobs}");
        let shown = get(&world, "/rest/consent", &tokens);
        assert_eq!(shown["patientAuthorizations"][0]["usage"], usage, "{knobs}");

        let authorization = world.authorizations().remove(0);
        let completed = "UPDATE sync_job SET state = 'COMPLETED', finished_at = created_at WHERE authorization = ?1";
        sql(&world, completed, &authorization.id);
        let frequency = "UPDATE application SET sync_frequency = 'daily' WHERE id = ?1";
        sql(&world, frequency, "app");
        world.store().clock().advance(DAY);
        world.store().sweep().unwrap();
        assert_eq!(world.store().jobs().schedule().unwrap(), usize::from(lasts), "{knobs}");
        let erased = world.authorizations()[0].data_erased_at.is_some();
        assert_eq!(erased, !lasts, "{knobs}");
        let body =
            json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": world.client});
        let refreshed = world.server.post("/oauth/token", &[], &body);
        assert_eq!((refreshed.status, &refreshed.json()["scope"]), (200, &json!(scope)));
    }
}

#[test]
fn a_source_is_asked_for_lasting_access_only_if_the_application_asked() {
    let world = World::new();
    for (endpoint, scope, asked) in [
        ("lakeshore", "launch/patient offline_access", true),
        ("lakeshore", "launch/patient", false),
        // The directory knows that it sends none.
        ("hilltop", "launch/patient offline_access", false),
    ] {
        let mut browser = world.enter(&[("svc_endpoint_id", endpoint), ("scope", scope)]);
        let there = browser.press("share", &[]).location();
        let sent = parameter(&there, "scope").unwrap();
        assert_eq!(sent.contains("offline_access"), asked, "{endpoint} {scope}");
        assert!(sent.contains("patient/*.rs"), "{sent}");
        let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
        assert!(browser.go(back.as_str()).answer("code").is_some());
        assert_eq!(world.authorizations()[0].scope_requested.as_ref(), Some(&sent));
    }
}

/// Searches for the places of a person with several. Returns their endpoints.
fn located(world: &World, browser: &mut Browser) -> Vec<String> {
    let mut people = (0..12).map(|number| world.payer.person(number));
    let person = people.find(|person| person.facilities() > 1).unwrap();
    browser.send("details", &[]);
    let fields = [
        ("given", person.given.as_str()),
        ("family", person.family.as_str()),
        ("birth_date", person.birth_date.as_str()),
    ];
    browser.send("search", &fields);
    let found = browser.page.values("facility");
    assert!(found.len() > 1, "{}", browser.page.text);
    found
}

#[test]
fn self_attested_places_that_can_be_asked_again_are_shared_on() {
    // The pages said 24 hours, but the usage was MULTIPLE, and no schedule ever synced the places again.
    let world = World::new();
    let refreshable = "UPDATE endpoint SET refreshable = 1 WHERE id = ?1";
    let mut browser = world.enter(&[SEARCH]);
    let found = located(&world, &mut browser);
    // No place can be synced again.
    assert!(
        browser.page.text.contains(ONCE) && !browser.page.text.contains(ONGOING),
        "{}",
        browser.page.text
    );
    sql(&world, refreshable, &found[0]);
    let page = browser.go("/connect").text.clone();
    // One place can, and the page says which.
    assert!(page.contains(ONCE) && page.contains(ONGOING), "{page}");
    let name = world
        .store()
        .endpoints()
        .get(&found[0])
        .unwrap()
        .unwrap()
        .organization
        .name;
    let told = format!("<strong dir=\"auto\">{name}</strong>: Well &#38; &#60;b&#62;Good&#60;/b&#62; {ONGOING}");
    assert!(page.contains(&told), "{told}\n{page}");
    for facility in &found[1..] {
        sql(&world, refreshable, facility);
    }
    let page = browser.go("/connect").text.clone();
    assert!(!page.contains(ONCE) && page.contains(ONGOING), "{page}");

    browser.send("facilities", &[("facility", &found[0])]);
    assert_eq!(browser.page.heading(), "Your sources");
    assert!(browser.page.text.contains(ONGOING), "{}", browser.page.text);
    let code = browser.press("finish", &[]).answer("code").unwrap();
    let tokens = world.exchange(&code);
    assert_eq!(tokens["scope"], "launch/patient offline_access");
    let authorization = world.authorizations().remove(0);
    assert_eq!(
        (authorization.usage, authorization.refreshable),
        (Usage::Multiple, false)
    );
    let completed = "UPDATE sync_job SET state = 'COMPLETED', finished_at = created_at WHERE authorization = ?1";
    sql(&world, completed, &authorization.id);
    sql(
        &world,
        "UPDATE application SET sync_frequency = 'daily' WHERE id = ?1",
        "app",
    );
    world.store().clock().advance(DAY);
    world.store().sweep().unwrap();
    assert_eq!(world.authorizations()[0].data_erased_at, None);
    assert_eq!(world.store().jobs().schedule().unwrap(), 1);
}

#[test]
fn every_page_says_it_in_the_same_sentence() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert!(browser.page.text.contains(ONGOING), "{}", browser.page.text);
    assert!(
        browser.page.text.contains("If you say no to lasting access"),
        "{}",
        browser.page.text
    );
    world.connect(&mut browser);
    assert!(browser.page.text.contains(ONGOING) && !browser.page.text.contains(ONCE));
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "hilltop")]);
    assert!(browser.page.text.contains(ONCE) && !browser.page.text.contains(ONGOING));
    browser.send("add", &[]);
    // After the grant, the page shows what was granted and not what was expected.
    browser.send("choose", &[("endpoint", "riverbend")]);
    assert!(browser.page.text.contains(ONGOING), "{}", browser.page.text);
    world.connect_as(&mut browser, &once(&world));
    let page = &browser.page.text;
    assert!(page.contains(ONGOING) && page.contains(ONCE), "{page}");
}
