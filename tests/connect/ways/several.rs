//! Search mode: several sources in one session, found in the directory or by the patient's details.

use tabularium::consent::{Actor, ConsentState, EndpointStatus, IDLE_SECONDS};
use tabularium::lake::Mode;

use super::super::browser::Browser;
use super::super::world::World;
use crate::harness::payer::{Payer, Visit};

const SEARCH: (&str, &str) = ("svc_search_mode", "true");

/// Sends the form for a search by details.
fn details(browser: &mut Browser) {
    browser.send("details", &[]);
    assert_eq!(browser.page.heading(), "Find your records by your details");
}

#[test]
fn several_sources_are_connected_in_one_session() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let page = world.connect(&mut browser);
    assert_eq!(page.heading(), "Your sources");
    assert!(page.text.contains("Lakeshore Health Plan"));
    assert_eq!(world.consent().state, ConsentState::Created);
    browser.send("add", &[]);
    // A connected source is marked and cannot be chosen again.
    assert!(browser.page.text.contains("Connected"), "{}", browser.page.text);
    browser.send("choose", &[("endpoint", "riverbend")]);
    world.connect(&mut browser);
    let page = browser.press("finish", &[]).clone();
    assert!(page.answer("code").is_some());
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH AUTHORIZED", "riverbend OAUTH AUTHORIZED"]
    );
    let authorizations = world.authorizations();
    assert_eq!(world.consent().patients.len(), 2);
    let tokens = world.exchange(&page.answer("code").unwrap());
    assert_eq!(tokens["patient"], *authorizations[0].patient.clone().unwrap());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH EXCHANGED", "riverbend OAUTH EXCHANGED"]
    );
}

#[test]
fn each_source_is_listed_with_what_it_shares_and_for_how_long() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    assert!(
        browser.page.text.contains("Who you are · Insurance"),
        "{}",
        browser.page.text
    );
    assert!(
        browser.page.text.contains("can keep getting new records"),
        "{}",
        browser.page.text
    );
    assert!(!browser.page.text.contains("for 24 hours"), "{}", browser.page.text);
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "riverbend")]);
    // The types that the patient left out at the source are not listed.
    let visit = Visit {
        types: Some(vec!["Patient".to_owned(), "Immunization".to_owned()]),
        offline: false,
        ..Visit::of(&world.payer.person(0).user)
    };
    world.connect_as(&mut browser, &visit);
    assert!(
        browser.page.text.contains("Who you are · Health<"),
        "{}",
        browser.page.text
    );
    assert!(browser.page.text.contains("for 24 hours"), "{}", browser.page.text);
}

#[test]
fn cancelling_one_connection_leads_back_to_the_others() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "riverbend")]);
    browser.send("hub", &[]);
    assert_eq!(browser.page.heading(), "Your sources");
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH AUTHORIZED", "riverbend OAUTH ABANDONED"]
    );
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn the_list_speaks_of_more_sources_only_where_there_are_more() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    let more = ["Connect as many as you like", "Add another source"];
    for text in more {
        assert!(browser.page.text.contains(text), "{text}: {}", browser.page.text);
    }
    for endpoint in world.store().endpoints().all(None).unwrap() {
        if endpoint.id != "lakeshore" {
            let status = EndpointStatus::Unavailable;
            world
                .store()
                .endpoints()
                .set_status(&endpoint.id, status, Actor::Operator)
                .unwrap();
        }
    }
    browser.go("/connect");
    assert_eq!(browser.page.heading(), "Your sources");
    for text in more {
        assert!(!browser.page.text.contains(text), "{text}: {}", browser.page.text);
    }
    // A connected source can still be removed, and then be chosen again.
    browser.send("remove", &[("endpoint", "lakeshore")]);
    assert!(browser.page.text.contains(more[1]), "{}", browser.page.text);
}

#[test]
fn sharing_nothing_gives_back_what_was_connected() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    let id = world.authorizations()[0].id.clone();
    let page = browser.press("drop", &[]);
    assert_eq!(
        page.answer("error_description").as_deref(),
        Some("User cancelled the consent flow")
    );
    assert_eq!(world.consent().state, ConsentState::Abandoned);
    assert_eq!(world.states(), ["lakeshore OAUTH REVOKED"]);
    assert_eq!(world.store().credentials().get(&id).unwrap(), None);
}

#[test]
fn what_was_connected_and_never_shared_is_abandoned_with_the_session() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    let id = world.authorizations()[0].id.clone();
    world.store().clock().advance(IDLE_SECONDS);
    world.store().sweep().unwrap();
    assert_eq!(world.consent().state, ConsentState::Abandoned);
    assert_eq!(world.states(), ["lakeshore OAUTH ABANDONED"]);
    assert_eq!(world.store().credentials().get(&id).unwrap(), None);
    let page = browser.go("/connect");
    assert!(page.answer("error_uri").unwrap().ends_with("/errors/session_timeout"));
}

#[test]
fn svc_endpoint_id_is_the_first_source_of_several() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH, ("svc_endpoint_id", "lakeshore")]);
    assert_eq!(browser.page.heading(), "Share your records from Lakeshore Health Plan?");
    assert_eq!(world.connect(&mut browser).heading(), "Your sources");
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn places_are_found_by_details_and_hints_are_filled_in() {
    let world = World::new();
    let person = world.payer.person(0);
    let hints = [
        SEARCH,
        ("svc_hint_first_name", person.given.as_str()),
        ("svc_hint_last_name", person.family.as_str()),
        ("svc_hint_dob", person.birth_date.as_str()),
    ];
    let mut browser = world.enter(&hints);
    details(&mut browser);
    let filled = |browser: &Browser, name: &str| browser.page.values(name)[0].clone();
    assert_eq!(filled(&browser, "given"), person.given);
    assert_eq!(filled(&browser, "family"), person.family);
    let born: Vec<u32> = person.birth_date.split('-').map(|part| part.parse().unwrap()).collect();
    for (name, part) in ["birth_year", "birth_month", "birth_day"].into_iter().zip(born) {
        assert_eq!(filled(&browser, name), part.to_string(), "{name}");
    }
    let fields = [
        ("given", person.given.as_str()),
        ("family", person.family.as_str()),
        ("birth_date", person.birth_date.as_str()),
        ("gender", person.gender),
        ("postal_code", person.postal_code.as_str()),
    ];
    browser.send("search", &fields);
    assert_eq!(browser.page.heading(), "These places may have records of yours");
    let found = browser.page.values("facility");
    assert_eq!(found.len() as u64, person.facilities());
    browser.send("facilities", &[("facility", &found[0])]);
    assert_eq!(browser.page.heading(), "Your sources");
    assert_eq!(world.states(), [format!("{} IAL1 AUTHORIZED", found[0])]);
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn details_that_are_missing_or_wrong_are_named() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    details(&mut browser);
    let odd = r#""><script>alert(1)</script>"#;
    let page = browser.press("search", &[("given", odd), ("birth_date", "31.12.80")]);
    assert_eq!(page.status, 422);
    assert!(page.text.contains("There’s something to correct"));
    assert!(page.text.contains("Enter your last name"));
    assert!(page.text.contains("Enter your date of birth"));
    assert!(!page.text.contains("Enter your first name"));
    assert!(!page.text.contains("<script>alert"));
    // The form keeps its values.
    assert_eq!(page.values("given"), [odd]);
}

#[test]
fn nobody_found_by_details_is_said_and_may_be_looked_for_again() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    details(&mut browser);
    let fields = [("given", "No"), ("family", "Body"), ("birth_date", "1980-12-31")];
    browser.send("search", &fields);
    assert_eq!(browser.page.heading(), "We found no records for you");
    browser.send("details", &[]);
    assert_eq!(browser.page.values("family"), ["Body"]);
    browser.send("search", &fields);
    let page = browser.press("leave", &[]);
    assert_eq!(
        page.answer("error_description").as_deref(),
        Some("No records found for this patient")
    );
}

#[test]
fn a_record_locator_that_fails_is_said() {
    let world = World::new();
    let nowhere = "http://127.0.0.1:1/locator/search";
    world
        .store()
        .record_locators()
        .set(Mode::Test, nowhere, Actor::Operator)
        .unwrap();
    let mut browser = world.enter(&[SEARCH]);
    details(&mut browser);
    browser.send(
        "search",
        &[("given", "A"), ("family", "B"), ("birth_date", "1980-12-31")],
    );
    assert!(browser.page.text.contains("The search didn’t work"));
    assert_eq!(browser.page.values("family"), ["B"]);
}

#[test]
fn when_every_place_fails_the_application_is_told_of_a_server_error() {
    let world = World::of(Payer::with(
        12,
        &[
            "northfield.fail_token=true",
            "eastgate.fail_token=true",
            "oldmill.fail_token=true",
        ],
    ));
    let person = world.payer.person(0);
    let mut browser = world.enter(&[SEARCH]);
    details(&mut browser);
    let fields = [
        ("given", person.given.as_str()),
        ("family", person.family.as_str()),
        ("birth_date", person.birth_date.as_str()),
    ];
    browser.send("search", &fields);
    let found = browser.page.values("facility");
    browser.send("facilities", &[("facility", &found[0])]);
    assert!(browser.page.text.contains("We couldn’t connect any of your sources"));
    assert_eq!(world.states(), [format!("{} IAL1 ERRORED", found[0])]);
    let page = browser.press("finish", &[]);
    assert_eq!(page.answer("error").as_deref(), Some("server_error"));
    assert_eq!(page.answer("state").as_deref(), Some("the state"));
    assert!(page.answer("error_uri").unwrap().ends_with("/errors/no_facilities"));
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}

#[test]
fn a_refusal_after_something_is_connected_loses_nothing() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "riverbend")]);
    let visit = Visit {
        agree: false,
        ..Visit::of(&world.payer.person(0).user)
    };
    world.connect_as(&mut browser, &visit);
    assert_eq!(
        browser.page.heading(),
        "Riverbend Medical Center didn’t share your records"
    );
    browser.send("hub", &[]);
    assert!(browser.press("finish", &[]).answer("code").is_some());
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH AUTHORIZED", "riverbend OAUTH BOUNCED"]
    );
}

#[test]
fn a_facility_is_found_by_its_name_and_connected_by_details() {
    // The directory's facilities were found only by details, so a patient who typed a facility's name found nothing.
    let world = World::new();
    let person = world.payer.person(0);
    let mut browser = world.enter(&[SEARCH]);
    let page = browser.go("/connect?q=northfield");
    assert!(
        page.text.contains("1 place") && page.text.contains("Northfield Hospital"),
        "{}",
        page.text
    );
    browser.send("choose", &[("endpoint", "northfield")]);
    assert_eq!(browser.page.heading(), "Find your records at Northfield Hospital");
    assert!(
        browser.page.text.contains("Northfield Hospital has no sign-in page"),
        "{}",
        browser.page.text
    );
    // Errors in the form do not lose the name.
    let page = browser.press("search", &[("given", "A")]);
    assert_eq!(
        (page.status, page.heading().as_str()),
        (422, "Find your records at Northfield Hospital")
    );
    let fields = [
        ("given", person.given.as_str()),
        ("family", person.family.as_str()),
        ("birth_date", person.birth_date.as_str()),
    ];
    browser.send("search", &fields);
    assert_eq!(browser.page.heading(), "These places may have records of yours");
    let found = browser.page.values("facility");
    assert_eq!(found[0], "northfield");
    assert!(
        browser.page.text.contains(r#"value="northfield" checked"#),
        "{}",
        browser.page.text
    );
    browser.send("facilities", &[("facility", "northfield")]);
    assert_eq!(world.states(), ["northfield IAL1 AUTHORIZED"]);
    // A connected source is not chosen again.
    browser.send("add", &[]);
    let csrf = browser.page.values("csrf")[0].clone();
    let again = [("csrf", csrf.as_str()), ("endpoint", "northfield")];
    browser.ask("POST", "/connect/choose", Some(&again));
    assert_eq!(browser.follow().heading(), "Where are your records?");
    browser.send("hub", &[]);
    assert!(browser.press("finish", &[]).answer("code").is_some());
}

#[test]
fn a_facility_that_does_not_know_the_patient_is_named_beside_those_that_do() {
    let world = World::new();
    // The first person was seen at only one place.
    let person = world.payer.person(0);
    assert_eq!(person.facilities(), 1);
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "oldmill")]);
    let fields = [
        ("given", person.given.as_str()),
        ("family", person.family.as_str()),
        ("birth_date", person.birth_date.as_str()),
    ];
    browser.send("search", &fields);
    assert_eq!(browser.page.values("facility"), ["northfield"]);
    let text = &browser.page.text;
    assert!(
        text.contains("Old Mill Family Practice knows no records under these details"),
        "{text}"
    );
    assert!(!text.contains(" checked"), "{text}");
}

#[test]
fn a_facility_that_nobody_is_found_at_is_named_and_another_way_is_open() {
    let world = World::new();
    let mut browser = world.enter(&[SEARCH]);
    browser.send("choose", &[("endpoint", "eastgate")]);
    let fields = [("given", "No"), ("family", "Body"), ("birth_date", "1980-12-31")];
    browser.send("search", &fields);
    assert_eq!(browser.page.heading(), "We found no records for you");
    assert!(
        browser.page.text.contains("Neither Eastgate Clinic nor anybody else"),
        "{}",
        browser.page.text
    );
    browser.send("details", &[]);
    assert_eq!(browser.page.heading(), "Find your records at Eastgate Clinic");
    browser.send("add", &[]);
    // From the list of organizations the search is for no particular place.
    browser.send("details", &[]);
    assert_eq!(browser.page.heading(), "Find your records by your details");
    browser.send("add", &[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(browser.page.heading(), "Share your records from Lakeshore Health Plan?");
}

#[test]
fn facilities_are_not_offered_where_nobody_can_be_looked_for_by_details() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let csrf = browser.page.values("csrf")[0].clone();
    let fields = [("csrf", csrf.as_str()), ("endpoint", "northfield")];
    browser.ask("POST", "/connect/choose", Some(&fields));
    assert_eq!(browser.follow().heading(), "Where are your records?");
    assert!(world.authorizations().is_empty());
}
