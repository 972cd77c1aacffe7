//! The link component: a popup or a frame that ends with a public token. Only the page that holds it gets the token.

use serde_json::json;
use tabularium::consent::ConsentState;

use super::browser::Browser;
use super::world::{ORIGIN, World};

fn start(world: &World, changes: &[(&str, &str)]) -> String {
    let mut pairs = vec![
        ("publishable_key", world.client.as_str()),
        ("origin", ORIGIN),
        ("channel", "channel-1"),
        ("svc_external_id", "user-1"),
    ];
    for (name, value) in changes {
        pairs.retain(|(known, _)| known != name);
        pairs.push((name, value));
    }
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish();
    format!("/link/start?{query}")
}

fn opened(world: &World, changes: &[(&str, &str)]) -> Browser {
    let mut browser = world.browser();
    browser.go(&start(world, changes));
    assert_eq!(browser.page.status, 200, "{}", browser.page.text);
    browser
}

#[test]
fn a_popup_ends_with_a_public_token_for_the_origin_that_opened_it() {
    let world = World::new();
    let mut browser = opened(&world, &[("usage", "MULTIPLE")]);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    let page = world.connect(&mut browser).clone();
    assert_eq!(page.status, 200);
    assert_eq!(page.behind("data-origin=\""), ORIGIN);
    assert_eq!(page.behind("data-channel=\""), "channel-1");
    assert_eq!(page.behind("data-event=\""), "success");
    let token = page.behind("data-token=\"");
    assert_eq!(world.consent().made_by.name(), "link");
    let body = json!({"public_token": token, "secret_key": world.secret}).to_string();
    let headers = [("content-type", "application/json")];
    let answer = world.server.send("POST", "/link/exchange", &headers, &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let granted = answer.json();
    assert_eq!(granted["usage"], "MULTIPLE");
    assert_eq!(granted["user"]["externalId"], "user-1");
    assert_eq!(world.consent().state, ConsentState::Exchanged);
}

#[test]
fn without_a_usage_access_is_for_one_day() {
    let world = World::new();
    opened(&world, &[]);
    assert_eq!(world.consent().usage.name(), "ONE_TIME");
}

#[test]
fn who_cancels_is_told_to_the_page_that_holds_the_component() {
    let world = World::new();
    let mut browser = opened(&world, &[]);
    let page = browser.press("cancel", &[]);
    assert_eq!(page.status, 200);
    assert_eq!(page.behind("data-event=\""), "exit");
    assert_eq!(page.behind("data-error=\""), "access_denied");
    assert_eq!(page.behind("data-description=\""), "User cancelled the consent flow");
    assert_eq!(page.behind("data-origin=\""), ORIGIN);
}

#[test]
fn only_registered_origins_may_hold_the_component_and_others_are_told_why() {
    // The page with the component was not told. It was called with null once the window was closed.
    let world = World::new();
    for (name, value, error, to) in [
        (
            "origin",
            "https://evil.example",
            "invalid_origin",
            "https://evil.example",
        ),
        (
            "origin",
            "https://app.example:8443",
            "invalid_origin",
            "https://app.example:8443",
        ),
        ("origin", "http://[::1]:3000", "invalid_origin", "http://[::1]:3000"),
        ("publishable_key", "pk_test_unknown", "invalid_key", ORIGIN),
        ("publishable_key", "", "invalid_key", ORIGIN),
    ] {
        let mut browser = world.browser();
        let page = browser.go(&start(&world, &[(name, value)]));
        assert_eq!(
            (page.status, page.heading().as_str()),
            (400, "This link doesn’t work"),
            "{name}={value}"
        );
        assert_eq!(page.behind("data-error=\""), error, "{name}={value}");
        assert!(page.behind("data-description=\"").contains(name), "{}", page.text);
        assert_eq!(page.behind("id=\"link-end\" hidden data-origin=\""), to);
        assert_eq!(
            (page.behind("data-event=\""), page.behind("data-token=\"")),
            ("exit".into(), String::new())
        );
        assert_eq!(
            page.header("content-security-policy").split("frame-ancestors ").nth(1),
            Some("'none'")
        );
        assert_eq!(page.header("set-cookie"), "", "{name}={value}");
    }
}

#[test]
fn a_frame_that_may_not_be_held_shows_nothing_and_tells_its_page_why() {
    // The browser showed a broken frame, because no page may frame that notice.
    let world = World::new();
    let wrong = [
        ("origin", "https://evil.example"),
        ("publishable_key", "pk_test_unknown"),
    ];
    let mut browser = world.browser();
    let page = browser.go(&start(&world, &[wrong[0], ("display", "iframe")])).clone();
    assert_eq!(
        (page.status, page.behind("data-error=\"")),
        (400, "invalid_origin".into())
    );
    let policy = page.header("content-security-policy");
    assert!(policy.ends_with("frame-ancestors https://evil.example"), "{policy}");
    let body = page.text.split("<body>").nth(1).unwrap();
    let shown: String = body.split('<').filter_map(|tag| tag.split('>').nth(1)).collect();
    assert_eq!(shown.trim(), "", "{body}");
    let page = browser.go(&start(&world, &[wrong[1], ("display", "iframe")]));
    assert_eq!((page.status, page.behind("data-error=\"")), (400, "invalid_key".into()));
    assert!(
        page.header("content-security-policy")
            .ends_with(&format!("frame-ancestors {ORIGIN}"))
    );
}

#[test]
fn a_message_is_addressed_to_an_origin_and_nothing_else() {
    let world = World::new();
    for origin in [
        "*",
        "",
        "null",
        "https://*",
        "https://evil.example/",
        "https://evil.example/page",
        "https://EVIL.example",
        "https://evil.example;script-src",
        "https://evil.example https://other.example",
        "https://a@evil.example",
        "javascript:alert(1)",
        "file:///",
    ] {
        for display in ["popup", "iframe"] {
            let mut browser = world.browser();
            let page = browser.go(&start(&world, &[("origin", origin), ("display", display)]));
            assert_eq!(page.status, 400, "{origin}");
            assert!(!page.text.contains("link-end"), "{}", page.text);
            let policy = page.header("content-security-policy");
            assert!(policy.ends_with("frame-ancestors 'none'"), "{policy}");
        }
    }
    for channel in ["", "a b", "\"><script>", &"c".repeat(129)] {
        let page = world
            .browser()
            .go(&start(&world, &[("publishable_key", "x"), ("channel", channel)]))
            .clone();
        assert!(page.status == 400 && !page.text.contains("link-end"), "{}", page.text);
    }
}

#[test]
fn the_page_that_holds_the_component_is_told_which_page_is_shown_and_nothing_of_it() {
    let world = World::new();
    let mut browser = opened(&world, &[]);
    let told = format!("<body data-origin=\"{ORIGIN}\" data-channel=\"channel-1\" data-view=\"");
    assert_eq!(browser.page.behind(&told), "choose");
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(browser.page.behind(&told), "review");
    let tag = browser
        .page
        .text
        .split("<body")
        .nth(1)
        .unwrap()
        .split('>')
        .next()
        .unwrap();
    assert!(!tag.contains("lakeshore") && !tag.contains("user-1"), "{tag}");
    // A flow by redirect has no page that holds it.
    assert!(!world.enter(&[]).page.text.contains("data-view"));
}

#[test]
fn a_request_that_is_wrong_is_told_to_a_registered_origin() {
    let world = World::new();
    for (name, value) in [
        ("usage", "FOREVER"),
        ("display", "window"),
        ("svc_endpoint_id", "nowhere"),
        ("svc_ial2_mode", "1"),
    ] {
        let mut browser = world.browser();
        let page = browser.go(&start(&world, &[(name, value)]));
        assert_eq!(page.status, 400, "{name}");
        assert_eq!(page.behind("data-error=\""), "invalid_request");
        assert_eq!(page.behind("data-origin=\""), ORIGIN);
    }
}

#[test]
fn a_frame_is_held_by_registered_origins_and_has_cookies_of_its_own() {
    let world = World::new();
    let mut browser = world.browser();
    let page = browser.ask("GET", &start(&world, &[("display", "iframe")]), None);
    let cookie = page.header("set-cookie");
    for part in ["SameSite=None", "Secure", "Partitioned", "HttpOnly"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let page = browser.follow();
    let policy = page.header("content-security-policy");
    assert!(policy.ends_with(&format!("frame-ancestors {ORIGIN}")), "{policy}");
    assert_eq!(page.header("x-frame-options"), "");
}

/// A frame in which the patient agreed to share from a source, and the ticket for the window beside it.
fn framed(world: &World) -> (Browser, String) {
    let mut frame = opened(world, &[("display", "iframe"), ("svc_endpoint_id", "lakeshore")]);
    frame.send("share", &[]);
    assert_eq!(frame.page.heading(), "Sign in at Lakeshore Health Plan");
    assert_eq!(frame.page.current(), Some("Sign in"));
    // Browsers apply a page's form policy to the redirect to the source.
    assert!(frame.page.header("content-security-policy").contains(&world.payer.base));
    let ticket = frame.page.values("ticket")[0].clone();
    (frame, ticket)
}

#[test]
fn a_frame_opens_the_source_in_a_window_and_goes_on_when_that_is_done() {
    let world = World::new();
    let (mut frame, ticket) = framed(&world);
    let mark = frame.page.behind("data-mark=\"");
    assert_eq!(frame.page.behind("data-view=\""), "sign_in");
    assert_eq!(frame.go("/connect/progress").text, mark);
    // The window does not have the frame's cookies.
    let mut window = world.browser();
    let there = window
        .ask("POST", "/connect/window", Some(&[("ticket", &ticket)]))
        .location();
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZING"]);
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    assert_eq!(window.go(back.as_str()).heading(), "You can close this window");
    // A window that was opened by a script closes itself.
    assert!(window.page.text.contains("data-closes"), "{}", window.page.text);
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZED"]);
    assert_ne!(frame.go("/connect/progress").text, mark);
    assert_eq!(frame.go("/connect").heading(), "You’re connected");
    // All steps were marked as done here, although the patient had yet to share.
    assert_eq!(frame.page.current(), Some("Share"));
    // The application named one source, so no page mentions others.
    for more in [
        "Connect as many",
        "Add another",
        "Not connected",
        "your sources",
        "Remove",
    ] {
        assert!(!frame.page.text.contains(more), "{more}: {}", frame.page.text);
    }
    let page = frame.press("finish", &[]);
    assert_eq!(page.behind("data-event=\""), "success");
    assert!(page.behind("data-token=\"").starts_with("public_"));
}

#[test]
fn a_window_that_shares_the_frames_cookies_leaves_the_end_to_the_frame() {
    // If the page that held the frame was of the service's own site, the window ended the flow, and the page never
    // knew. The window was recognized by the cookie alone.
    let world = World::new();
    let (mut frame, ticket) = framed(&world);
    let there = frame
        .ask("POST", "/connect/window", Some(&[("ticket", &ticket)]))
        .location();
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    assert_eq!(frame.go(back.as_str()).heading(), "You can close this window");
    assert_eq!(frame.go("/connect").heading(), "You’re connected");
    assert_eq!(frame.press("finish", &[]).behind("data-event=\""), "success");
}

#[test]
fn a_window_opens_with_the_ticket_of_its_frame_only() {
    let world = World::new();
    let (mut frame, ticket) = framed(&world);
    let cut = &ticket[..ticket.len() - 1];
    let longer = format!("{ticket}A");
    for wrong in ["", ".", "x", "x.y", cut, &longer, &"A".repeat(ticket.len())] {
        let mut window = world.browser();
        let page = window.ask("POST", "/connect/window", Some(&[("ticket", wrong)]));
        assert_eq!(page.status, 403, "{wrong}");
        assert!(window.cookies.is_empty());
    }
    // A ticket from another site is refused. Otherwise that site's visitors would return into the frame of the ticket's
    // owner.
    for origin in [Some("https://evil.example".to_owned()), Some("null".to_owned()), None] {
        let mut window = world.browser();
        window.origin = origin;
        let page = window.ask("POST", "/connect/window", Some(&[("ticket", &ticket)]));
        assert_eq!(page.status, 403);
        assert!(window.cookies.is_empty());
    }
    // Once the frame moves on, its ticket is invalid.
    frame.press("cancel", &[]);
    let mut window = world.browser();
    let page = window.ask("POST", "/connect/window", Some(&[("ticket", &ticket)]));
    assert_eq!(page.status, 403);
}

#[test]
fn an_answer_in_a_window_counts_in_the_window_that_was_sent() {
    let world = World::new();
    let (_frame, ticket) = framed(&world);
    let mut window = world.browser();
    let there = window
        .ask("POST", "/connect/window", Some(&[("ticket", &ticket)]))
        .location();
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    assert_eq!(world.browser().go(back.as_str()).status, 400);
    let mut stranger = world.browser();
    stranger.cookies.insert("svc_window".to_owned(), "x.y".to_owned());
    assert_eq!(stranger.go(back.as_str()).status, 400);
    stranger.cookies.insert("svc_window".to_owned(), ticket.clone());
    assert_eq!(stranger.go(back.as_str()).status, 400);
    // The window's cookie does not open the frame's pages.
    assert_eq!(window.go("/connect").status, 410);
    assert_eq!(window.go(back.as_str()).status, 200);
}

#[test]
fn a_ticket_opens_one_window() {
    // The owner of a stolen ticket could send another person to the source while the patient was on the way there.
    let world = World::new();
    let (mut frame, ticket) = framed(&world);
    let base = world.base();
    let opened: Vec<u16> = std::thread::scope(|scope| {
        let open = || {
            let mut window = Browser::new(&base);
            window
                .ask("POST", "/connect/window", Some(&[("ticket", &ticket)]))
                .status
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(opened.iter().filter(|status| **status == 303).count(), 1, "{opened:?}");
    assert_eq!(opened.iter().filter(|status| **status == 403).count(), 3, "{opened:?}");
    assert_eq!(world.states(), ["lakeshore OAUTH AUTHORIZING"]);
    // A patient who closed the window opens another from the frame's page, which has moved on. The first window is
    // forgotten.
    frame.go("/connect");
    assert_eq!(frame.page.heading(), "Sign in at Lakeshore Health Plan");
    let fresh = frame.page.values("ticket")[0].clone();
    assert_ne!(fresh, ticket);
    let mut window = world.browser();
    let there = window
        .ask("POST", "/connect/window", Some(&[("ticket", &fresh)]))
        .location();
    assert_eq!(
        world.states(),
        ["lakeshore OAUTH ABANDONED", "lakeshore OAUTH AUTHORIZING"]
    );
    let back = world.payer.log_in(there.as_str(), &world.payer.person(0).user);
    assert_eq!(window.go(back.as_str()).heading(), "You can close this window");
    assert_eq!(frame.go("/connect").heading(), "You’re connected");
}
