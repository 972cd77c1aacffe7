//! Finding an organization on its page and while typing its name.

use tabularium::consent::{Actor, AuthorizationType, EndpointStatus, NewEndpoint, Organization};
use tabularium::http::{Branding, Pages};
use tabularium::lake::Mode;

use super::super::world::World;
use crate::commands::service_commands::done;

/// Lists an endpoint with an organization of its own.
fn list(world: &World, id: &str, name: &str, organization_type: &str, place: &str) {
    let organization = Organization {
        id: id.to_owned(),
        name: name.to_owned(),
        note: String::new(),
        organization_type: organization_type.to_owned(),
    };
    world
        .store()
        .organizations()
        .save(&organization, Actor::Operator)
        .unwrap();
    let base = format!("https://{id}.example/fhir");
    let new = NewEndpoint {
        id: Some(id),
        organization: id,
        name: id,
        mode: Mode::Test,
        label: &[name.to_owned()],
        authorization_type: AuthorizationType::Oauth,
        refreshable: false,
        refresh_valid_for: None,
        max_auth_period: None,
        status: EndpointStatus::Live,
        resources: &[],
        fhir_base: &base,
        configuration: None,
        client_id: "us",
        client_secret: None,
        scope: "launch/patient",
        identifier_system: "urn:listed",
    };
    world.store().endpoints().save(&new, Actor::Operator).unwrap();
    done(
        world.server.folder(),
        &["endpoint", "organization", id, "--place", place],
    );
}

#[test]
fn organizations_are_found_as_patients_spell_them() {
    let world = World::new();
    list(&world, "mary", "St. Mary's Hospital", "PROVIDER", "Springfield, IL");
    list(&world, "way", "Cedar Way Pharmacy", "PHARMACY", "Boise, Idaho");
    let mut browser = world.enter(&[]);
    for (query, first) in [
        ("lakshore", "lakeshore"),
        ("lake+shore", "lakeshore"),
        ("lakeshore+helth+plan", "lakeshore"),
        ("cedarway+pharmacy", "way"),
        ("cedar+way+mutual", "cedarway"),
        ("senior+advantag", "lakeshore"),
        ("saint+marys", "mary"),
        ("illinois", "mary"),
        ("ID", "way"),
        ("pharmcy+boise", "way"),
    ] {
        for address in ["/connect/find", "/connect/organizations"] {
            let page = browser.go(&format!("{address}?q={query}"));
            assert_eq!(page.status, 200);
            assert_eq!(
                page.values("endpoint").first().map(String::as_str),
                Some(first),
                "{query}"
            );
        }
    }
    let page = browser.go("/connect/organizations?q=marys");
    assert!(
        page.text.contains(r#"<p hidden data-found="1 place"></p>"#),
        "{}",
        page.text
    );
    assert!(
        page.text.contains("Clinic or hospital · Springfield, IL"),
        "{}",
        page.text
    );
}

#[test]
fn where_nothing_is_found_the_page_leads_on() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let page = browser.go("/connect/find?q=nobodys");
    assert!(page.text.contains("We found nothing for “nobodys”"), "{}", page.text);
    // The help is in view, so no link leads to it.
    assert!(
        page.text.contains(r#"id="to-lost" data-from="6" hidden>"#),
        "{}",
        page.text
    );
    assert!(
        page.text
            .contains("Tell Well &#38; &#60;b&#62;Good&#60;/b&#62; which one"),
        "{}",
        page.text
    );
    assert!(!page.text.contains("/connect/details"), "{}", page.text);
    for number in 1..=6 {
        let id = format!("oak{number}");
        list(&world, &id, "Oak Clinic", "PROVIDER", "Salem, OR");
    }
    let page = browser.go("/connect/find?q=oak");
    assert!(
        page.text
            .contains(r##"id="to-lost" data-from="6"><a href="#lost">Can’t find yours?</a>"##),
        "{}",
        page.text
    );
    // A patient who can be found by their details is led there.
    let mut browser = world.enter(&[("svc_search_mode", "true")]);
    assert!(
        browser.page.text.contains("we can look for your records"),
        "{}",
        browser.page.text
    );
    browser.send("details", &[]);
    assert_eq!(browser.page.heading(), "Find your records by your details");
}

#[test]
fn an_operator_is_told_which_place_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let file = "name = 'Oak'\ncontact = 'mailto:help@oak.example'";
    std::fs::write(folder.path().join("branding.toml"), file).unwrap();
    let pages = Pages {
        branding: Branding::from_folder(folder.path()).unwrap(),
        ..Pages::default()
    };
    let page = World::showing(pages).enter(&[]).page.text;
    let link = r#"<a href="mailto:help@oak.example">Tell us which one you miss</a>"#;
    assert!(page.contains(link), "{page}");
}

#[test]
fn the_popular_come_first_and_then_the_operators_choice() {
    let world = World::new();
    let first = || world.enter(&[]).page.values("endpoint");
    assert_eq!(first()[..3], ["cedarway", "fernwood", "hilltop"]);
    let said = done(
        world.server.folder(),
        &["endpoint", "organization", "hilltop", "--rank", "1", "--json"],
    );
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["rank"], 1);
    assert_eq!(first()[..3], ["hilltop", "cedarway", "fernwood"]);

    let mut browser = world.enter(&[]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    world.connect(&mut browser);
    // Grants are counted once an hour.
    world.store().clock().advance(3_600);
    assert_eq!(first()[..3], ["lakeshore", "hilltop", "cedarway"]);
    world.store().clock().advance(91 * 86_400);
    done(
        world.server.folder(),
        &["endpoint", "organization", "hilltop", "--rank", "0"],
    );
    assert_eq!(first()[..3], ["cedarway", "fernwood", "hilltop"]);
}
