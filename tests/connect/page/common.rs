//! Properties that all pages share.

use tabularium::consent::{Actor, AuthorizationType, EndpointStatus, NewEndpoint};
use tabularium::lake::Mode;

use super::super::world::World;

/// Lists an endpoint with this name.
fn list(world: &World, number: usize, label: &str) {
    let organization = world
        .store()
        .endpoints()
        .get("lakeshore")
        .unwrap()
        .unwrap()
        .organization
        .id;
    let (id, base) = (format!("listed-{number}"), format!("https://{number}.example/fhir"));
    let new = NewEndpoint {
        id: Some(&id),
        organization: &organization,
        name: &id,
        mode: Mode::Test,
        label: &[label.to_owned()],
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
}

#[test]
fn of_many_organizations_the_first_are_shown_and_the_rest_found_by_name() {
    let world = World::new();
    for number in 0..500 {
        list(&world, number, &format!("Plan {number:03}"));
    }
    let mut browser = world.enter(&[]);
    assert!(
        browser.page.text.contains("More than 50 places"),
        "{}",
        browser.page.text
    );
    assert_eq!(browser.page.values("endpoint").len(), 50);
    let page = browser.go("/connect/find?q=plan+4");
    assert!(page.text.contains("More than 50 places"), "{}", page.text);
    let page = browser.go("/connect/find?q=plan+457");
    assert!(page.text.contains("1 place<"), "{}", page.text);
    assert_eq!(page.values("endpoint"), ["listed-457"]);
}

#[test]
fn names_are_shown_as_they_are_written() {
    let world = World::new();
    let names = [
        "\u{5de}\u{5db}\u{5d1}\u{5d9} \u{5d1}\u{5e8}\u{5d9}\u{5d0}\u{5d5}\u{5ea}",
        "\u{5065}\u{5eb7}\u{4fdd}\u{967a}",
        "Zdrowie \u{141}\u{f3}d\u{17a}",
    ];
    for (number, name) in names.iter().enumerate() {
        list(&world, number, name);
    }
    let mut browser = world.enter(&[]);
    for (number, name) in names.iter().enumerate() {
        let marked = format!(r#"<span class="name" dir="auto">{name}</span>"#);
        assert!(browser.page.text.contains(&marked), "{}", browser.page.text);
        browser.send("choose", &[("endpoint", &format!("listed-{number}"))]);
        assert!(browser.page.heading().contains(name), "{}", browser.page.text);
        browser.send("add", &[]);
    }
    // A right-to-left name is isolated, so that it does not reorder the sentence.
    browser.send("choose", &[("endpoint", "listed-0")]);
    let apart = format!("\u{2068}{}\u{2069}", names[0]);
    assert_eq!(browser.page.heading(), format!("Share your records from {apart}?"));
}

#[test]
fn pages_that_need_correcting_say_so_first() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_search_mode", "true")]);
    browser.send("details", &[]);
    assert!(
        browser.page.text.contains("<title>Find your records"),
        "{}",
        browser.page.text
    );
    browser.press("search", &[]);
    assert!(
        browser.page.text.contains("<title>To correct: Find your records"),
        "{}",
        browser.page.text
    );
}

#[test]
fn pages_load_nothing_from_elsewhere_and_are_framed_by_nobody() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    for address in ["/connect", "/errors", "/errors/access_denied", "/connect/callback/x"] {
        let page = browser.go(address);
        let policy = page.header("content-security-policy");
        for part in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "form-action 'self'",
        ] {
            assert!(policy.contains(part), "{address}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cache-control"), "no-store");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert!(!page.header("x-request-id").is_empty());
        // The page has no inline scripts or styles.
        assert!(!page.text.contains("<style") && !page.text.contains(" style=") && !page.text.contains("<script>"));
        assert!(!page.text.contains("onclick"));
    }
}

#[test]
fn pages_may_lead_to_the_source_and_to_the_application() {
    let world = World::new();
    let browser = world.enter(&[
        ("svc_endpoint_id", "lakeshore"),
        ("redirect_uri", "http://127.0.0.1:4001/cb"),
    ]);
    let policy = browser.page.header("content-security-policy");
    assert!(policy.contains("http://127.0.0.1:4001"), "{policy}");
    assert!(policy.contains(&world.payer.base), "{policy}");
}

#[test]
fn style_and_scripts_are_files_that_browsers_keep() {
    let world = World::new();
    let mut browser = world.browser();
    for (name, media) in [
        ("/connect/assets/connect.css", "text/css; charset=utf-8"),
        ("/connect/assets/connect.js", "text/javascript; charset=utf-8"),
        ("/connect/assets/link-end.js", "text/javascript; charset=utf-8"),
        ("/connect/assets/mark.svg", "image/svg+xml"),
        ("/link/v1/link.js", "text/javascript; charset=utf-8"),
    ] {
        let page = browser.go(name);
        assert_eq!((page.status, page.header("content-type")), (200, media), "{name}");
        let tag = page.header("etag").to_owned();
        let again = world.server.send("GET", name, &[("if-none-match", &tag)], "");
        assert_eq!(again.status, 304, "{name}");
    }
    assert_eq!(browser.go("/connect/assets/other").status, 404);
    assert_eq!(
        browser.go("/link/v1/link.js").header("cross-origin-resource-policy"),
        "cross-origin"
    );
}

#[test]
fn pages_say_their_language_and_that_nobody_is_real_in_test_mode() {
    let world = World::new();
    let browser = world.enter(&[]);
    assert!(browser.page.text.contains(r#"<html lang="en" dir="ltr">"#));
    assert!(browser.page.text.contains("nobody in these records is real"));
    let live = world.enter(&[("client_id", &world.live)]);
    assert!(!live.page.text.contains("nobody in these records is real"));
    assert!(live.page.text.contains("There’s no place to connect here yet."));
}
