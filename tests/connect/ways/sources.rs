//! Several sources in one flow: one is removed, a failed one is tried again, and the steps above the page show the
//! progress.

use serde_json::json;

use super::super::world::World;

const SEARCH: (&str, &str) = ("svc_search_mode", "true");

#[test]
fn a_source_that_is_removed_is_given_back_and_not_shared() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    for endpoint in ["lakeshore", "riverbend"] {
        browser.send("choose", &[("endpoint", endpoint)]);
        world.connect(&mut browser);
        if endpoint == "lakeshore" {
            browser.send("add", &[]);
        }
    }
    assert_eq!(browser.page.current(), Some("Share"));
    // Sources are connected, so the footer no longer speaks of a condition.
    let text = &browser.page.text;
    assert!(text.contains("gets what you share. We keep a copy."), "{text}");
    assert!(!text.contains("If you agree"), "{text}");
    assert!(
        browser
            .page
            .text
            .contains(r#"aria-label="Remove Lakeshore Health Plan""#)
    );
    browser.send("remove", &[("endpoint", "lakeshore")]);
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH REVOKED", "riverbend OAUTH AUTHORIZED"]
    );
    assert!(!browser.page.text.contains("Lakeshore"), "{}", browser.page.text);
    // A second press, or one for an unknown source, changes nothing.
    for endpoint in ["lakeshore", "cedarway", "", "' OR 1"] {
        browser.send("remove", &[("endpoint", endpoint)]);
        assert_eq!(browser.page.heading(), "Your sources");
    }
    let code = browser.press("finish", &[]).answer("code").unwrap();
    let tokens = world.exchange(&code);
    assert_eq!(tokens["patient"], *world.authorizations()[1].patient.clone().unwrap());
    assert_eq!(world.states(), ["lakeshore OAUTH REVOKED", "riverbend OAUTH EXCHANGED"]);
}

#[test]
fn the_last_source_that_is_removed_may_be_connected_again() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    browser.send("remove", &[("endpoint", "lakeshore")]);
    assert!(
        browser.page.text.contains("Nothing is connected yet."),
        "{}",
        browser.page.text
    );
    assert_eq!(browser.page.current(), Some("Connect"));
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    assert!(browser.press("finish", &[]).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH REVOKED", "lakeshore OAUTH AUTHORIZED"]
    );
}

#[test]
fn a_source_that_failed_is_tried_again_from_where_it_is_listed() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    browser.send("add", &[]);
    world.payer.turn("riverbend", &json!({"fail_token": true}));
    browser.send("choose", &[("endpoint", "riverbend")]);
    world.connect(&mut browser);
    assert_eq!(browser.page.heading(), "We can’t reach Riverbend Medical Center");
    browser.send("hub", &[]);
    assert!(
        browser
            .page
            .text
            .contains(r#"aria-label="Try Riverbend Medical Center again""#)
    );
    // A source that did not fail cannot be chosen from there.
    browser.send("choose", &[("endpoint", "cedarway")]);
    assert_eq!(browser.page.heading(), "Your sources");
    world.payer.turn("riverbend", &json!({"fail_token": false}));
    browser.send("choose", &[("endpoint", "riverbend")]);
    assert_eq!(
        browser.page.heading(),
        "Share your records from Riverbend Medical Center?"
    );
    world.connect(&mut browser);
    assert!(!browser.page.text.contains("Not connected"), "{}", browser.page.text);
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn a_search_that_finds_nothing_is_still_the_first_step() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("details", &[]);
    let fields = [("given", "No"), ("family", "Body"), ("birth_date", "1980-01-02")];
    browser.send("search", &fields);
    assert_eq!(browser.page.heading(), "We found no records for you");
    assert_eq!(browser.page.current(), Some("Find"));
    assert!(
        !browser.page.text.contains(r#"<li class="done">"#),
        "{}",
        browser.page.text
    );
}

#[test]
fn details_of_the_review_are_behind_disclosures_and_the_button_stays_in_reach() {
    let world = World::new();
    let browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    let page = &browser.page.text;
    assert!(page.contains("<p class=\"shared\">Who you are"), "{page}");
    assert_eq!(page.matches("<details class=\"more\">").count(), 2, "{page}");
    assert!(page.contains(r#"<form class="reach""#), "{page}");
    let shown = regex::Regex::new(r"(?s)<details.*?</details>").unwrap();
    let shown = shown.replace_all(page, "");
    for text in [
        "Until you or the app stop it",
        "you’ll sign in there. We never see your password",
        "If you agree, only Well",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(!shown.contains("for 90 days"), "{shown}");
    // What becomes of the records stands above the button, and nothing is said twice.
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}: {page}"));
    assert!(at("If you agree, only Well") < at(r#"<form class="reach""#));
    assert_eq!(page.matches("If you agree").count(), 1, "{page}");
    assert_eq!(page.matches("you’ll sign in").count(), 1, "{page}");
    assert_eq!(browser.page.current(), Some("Review"));
}
