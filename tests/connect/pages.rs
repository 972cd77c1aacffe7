//! What all pages have in common.

use super::world::World;

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
        // Neither scripts nor styles stand in a page itself.
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
    assert!(browser.page.text.contains(r#"<html lang="en">"#));
    assert!(browser.page.text.contains("nobody in these records is real"));
    let live = world.enter(&[("client_id", &world.live)]);
    assert!(!live.page.text.contains("nobody in these records is real"));
    assert!(live.page.text.contains("There is no organization to connect here yet."));
}
