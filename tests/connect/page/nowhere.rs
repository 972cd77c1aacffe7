//! Addresses without a route, as browsers and programs see them; and the icon.

use tabularium::http::{Branding, Pages};

use super::super::world::World;

const BROWSER: (&str, &str) = (
    "accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
);
const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>";

#[test]
fn browsers_see_a_page_and_programs_are_told() {
    let world = World::new();
    for path in ["/elsewhere", "/connect/elsewhere", "/rest/elsewhere", "/robots.txt"] {
        let page = world.server.send("GET", path, &[BROWSER], "");
        assert_eq!(
            (page.status, page.header("content-type")),
            (404, "text/html; charset=utf-8")
        );
        assert!(
            page.text.contains("<h1>There’s nothing at this address</h1>"),
            "{}",
            page.text
        );
        assert!(page.text.contains(r#"<a class="button" href="/">"#), "{}", page.text);
        assert!(page.header("content-security-policy").starts_with("default-src 'none'"));
        assert!(
            !page.text.contains(path.trim_start_matches("/connect")),
            "{}",
            page.text
        );

        let told = world.server.send("GET", path, &[], "");
        assert_eq!((told.status, told.header("content-type")), (404, "application/json"));
        assert!(told.json()["message"].as_str().unwrap().contains("nothing here"));
        let posted = world.server.send("POST", path, &[BROWSER], "");
        assert_eq!(
            (posted.status, posted.header("content-type")),
            (404, "application/json")
        );
    }
    let spanish = world
        .server
        .send("GET", "/elsewhere", &[BROWSER, ("accept-language", "es")], "");
    assert!(
        spanish.text.contains("No hay nada en esta dirección"),
        "{}",
        spanish.text
    );
    // The page had no way to another language.
    assert!(
        spanish.text.contains("href=\"?language=en\" lang=\"en\""),
        "{}",
        spanish.text
    );
    let switched = world.server.redirect("/elsewhere?language=es", &[BROWSER]);
    assert!(
        switched.header("set-cookie").contains("svc_language=es"),
        "{:?}",
        switched.headers
    );
    // The FHIR API answers all clients with FHIR.
    let fhir = world.server.send("GET", "/fhir/a/b/c/d/e", &[BROWSER], "");
    assert_eq!(
        (fhir.status, fhir.header("content-type")),
        (401, "application/fhir+json; charset=utf-8")
    );
}

#[test]
fn the_icon_is_the_operators_logo_or_the_mark() {
    let world = World::new();
    let icon = world.server.send("GET", "/favicon.ico", &[], "");
    let mark = world.server.send("GET", "/connect/assets/mark.svg", &[], "");
    assert_eq!((icon.status, icon.header("content-type")), (200, "image/svg+xml"));
    assert_eq!(icon.text, mark.text);
    assert!(
        world
            .enter(&[])
            .page
            .text
            .contains(r#"<link rel="icon" href="/favicon.ico">"#)
    );

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("logo.svg"), SVG).unwrap();
    std::fs::write(folder.path().join("branding.toml"), "name = 'Oak'\nlogo = 'logo.svg'").unwrap();
    let pages = Pages {
        branding: Branding::from_folder(folder.path()).unwrap(),
        ..Pages::default()
    };
    let world = World::showing(pages);
    let icon = world.server.send("GET", "/favicon.ico", &[], "");
    assert_eq!(icon.text, SVG);
    assert!(icon.header("content-security-policy").ends_with("sandbox"));
    let page = world.server.send("GET", "/elsewhere", &[BROWSER], "");
    assert!(page.text.contains("· Oak</title>"), "{}", page.text);
}

/// The start page is for developers. An operator's help is what a patient needs.
#[test]
fn patients_are_led_to_the_operators_help() {
    for (options, address) in [
        ("contact = 'mailto:help@oak.example'", "mailto:help@oak.example"),
        (
            "contact = 'mailto:help@oak.example'\nhelp = 'https://oak.example/help'",
            "https://oak.example/help",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("branding.toml"), format!("name = 'Oak'\n{options}")).unwrap();
        let pages = Pages {
            branding: Branding::from_folder(folder.path()).unwrap(),
            ..Pages::default()
        };
        let world = World::showing(pages);
        let page = world.server.send("GET", "/elsewhere", &[BROWSER], "");
        let link = format!(r#"<a class="button" href="{address}">Get help</a>"#);
        assert!(page.text.contains(&link), "{}", page.text);
        // The pages for developers have the operator's name, too.
        for (path, title) in [("/", "<title>Oak</title>"), ("/docs", "<title>Oak: API</title>")] {
            let page = world.server.send("GET", path, &[BROWSER], "");
            assert!(page.text.contains(title), "{path}: {}", page.text);
        }
        let start = world.server.send("GET", "/", &[BROWSER], "");
        assert!(start.text.contains(&format!(r#"href="{address}""#)), "{}", start.text);
        assert!(!start.text.contains("Tabularium"), "{}", start.text);
    }
}
