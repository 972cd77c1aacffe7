//! The pages show the application, the source and the operator.

use std::path::Path;

use tabularium::http::{Branding, Pages};

use super::super::world::World;
use crate::commands::service_commands::done;

const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'><script>alert(1)</script></svg>";

fn logo(folder: &Path) -> String {
    let path = folder.join("logo.svg");
    std::fs::write(&path, SVG).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_application_says_who_it_is_before_anything_else() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let logo = logo(folder.path());
    let set = [
        "app",
        "set",
        "app",
        "--purpose",
        "We keep your <list> up to date.",
        "--privacy",
        "https://app.example/privacy",
        "--terms",
        "https://app.example/terms",
        "--logo",
        &logo,
    ];
    let said = done(world.server.folder(), &set);
    assert!(said.contains("We keep your <list> up to date."), "{said}");
    let mut browser = world.enter(&[]);
    let page = browser.page.text.clone();
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}: {page}"));
    assert!(at("would like to see your health records") < at("<h1>"));
    assert!(at("We keep your &#60;list&#62; up to date.") < at("<h1>"));
    for link in ["https://app.example/privacy", "https://app.example/terms"] {
        at(&format!(
            r#"<a href="{link}" target="_blank" rel="noopener noreferrer""#
        ));
    }
    // The visible text is short, so that both links fit one line. The name of the link says whose privacy policy it is.
    at("aria-label=\"Privacy: how Well");
    at(">Privacy</a>");
    // The service's own name is small and comes last.
    assert!(at(r#"<p class="brand">"#) > at("</main>"));
    let address = browser.page.behind(r#"<img src="/connect/logo/application/"#);
    let shown = browser.go(&format!("/connect/logo/application/{address}"));
    assert_eq!((shown.status, shown.header("content-type")), (200, "image/svg+xml"));
    assert_eq!(shown.text, SVG);
    // A script in a logo must not run.
    assert!(shown.header("content-security-policy").ends_with("sandbox"));
    assert_eq!(browser.go("/connect/logo/application/nobody").status, 404);
    assert_eq!(browser.go("/connect/logo/organization/lakeshore").status, 404);

    done(
        world.server.folder(),
        &["app", "set", "app", "--purpose", "", "--no-logo"],
    );
    // Without a logo, a tile has the first letter.
    let page = world.enter(&[]).page;
    assert!(
        page.text.contains(r#"data-letter="W" aria-hidden="true""#),
        "{}",
        page.text
    );
    assert!(!page.text.contains("We keep your"), "{}", page.text);
    assert!(!page.text.contains("/connect/logo/application"), "{}", page.text);
    assert!(page.text.contains("https://app.example/terms"), "{}", page.text);
}

/// A long purpose must not push the button of the review out of view.
#[test]
fn a_long_purpose_is_cut_until_it_is_opened() {
    let world = World::new();
    let long = "We keep your list of medicines up to date. ".repeat(4);
    for (purpose, folds) in [("We keep your list up to date.", false), (long.trim(), true)] {
        done(world.server.folder(), &["app", "set", "app", "--purpose", purpose]);
        let page = world.enter(&[]).page.text;
        assert!(page.contains(purpose), "{page}");
        assert_eq!(page.contains(r#"<details class="purpose">"#), folds, "{page}");
    }
}

#[test]
fn an_organization_shows_what_and_where_it_is() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let logo = logo(folder.path());
    let set = [
        "endpoint",
        "organization",
        "lakeshore",
        "--place",
        "Duluth, Minnesota",
        "--logo",
        &logo,
    ];
    done(world.server.folder(), &set);
    let mut browser = world.enter(&[]);
    assert!(
        browser.page.text.contains("Health plan · Duluth, Minnesota"),
        "{}",
        browser.page.text
    );
    // Organizations without a logo have a tile, here and on the review.
    assert!(
        browser.page.text.contains(r#"data-letter="C""#),
        "{}",
        browser.page.text
    );
    assert!(
        !browser.page.text.contains(r#"data-letter="L""#),
        "{}",
        browser.page.text
    );
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert!(
        browser.page.text.contains("Health plan · Duluth, Minnesota"),
        "{}",
        browser.page.text
    );
    assert!(
        browser.page.text.contains("/connect/logo/organization/lakeshore?"),
        "{}",
        browser.page.text
    );
    let review = world.enter(&[("svc_endpoint_id", "cedarway")]).page.text;
    assert!(review.contains(r#"data-letter="C""#), "{review}");
}

#[test]
fn the_operators_brand_is_on_every_page() {
    let folder = tempfile::tempdir().unwrap();
    logo(folder.path());
    let file = "name = 'Oak & Co'\nlogo = 'logo.svg'\ncolor = '#ffee00'\nhelp = 'https://oak.example/help'";
    std::fs::write(folder.path().join("branding.toml"), file).unwrap();
    let pages = Pages {
        branding: Branding::from_folder(folder.path()).unwrap(),
        ..Pages::default()
    };
    let world = World::showing(pages);
    let mut browser = world.enter(&[]);
    for address in ["/connect", "/errors", "/connect/callback/x"] {
        let page = browser.go(address);
        assert!(page.text.contains("· Oak &#38; Co</title>"), "{}", page.text);
        assert!(page.text.contains("https://oak.example/help"), "{}", page.text);
        assert!(!page.text.contains("Tabularium"), "{}", page.text);
    }
    let style = browser.go("/connect/brand.css");
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert!(style.text.contains("--accent: #") && !style.text.contains("--accent: #ffee00; --accent-ink: #ffffff"));
    assert_eq!(browser.go("/connect/brand/logo").text, SVG);
}

#[test]
fn what_is_no_address_or_picture_is_refused() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("logo.txt");
    std::fs::write(&text, "a logo").unwrap();
    let text = text.to_str().unwrap();
    for (arguments, said) in [
        (
            ["app", "set", "app", "--privacy", "javascript:alert(1)"],
            "is no https address",
        ),
        (
            ["app", "set", "app", "--terms", "http://app.example"],
            "is no https address",
        ),
        (["app", "set", "app", "--logo", text], "is no PNG, JPEG, WebP or SVG"),
        (["app", "set", "nobody", "--purpose", "x"], "there is no application"),
        (
            ["endpoint", "organization", "nobody", "--place", "x"],
            "there is no organization",
        ),
    ] {
        let (code, error) = crate::commands::service_commands::refused(world.server.folder(), &arguments);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
