//! A browser on a page of an ended session learns how it ended, and gets the way back.

use tabularium::consent::IDLE_SECONDS;

use super::super::world::World;

#[test]
fn who_has_shared_and_goes_back_is_told_so_and_led_to_the_application() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_endpoint_id", "lakeshore")]);
    assert!(world.connect(&mut browser).answer("code").is_some());
    let page = browser.go("/connect");
    assert_eq!((page.status, page.heading().as_str()), (410, "You’re done here"));
    assert!(
        page.text.contains(r#"<a class="button" href="https://app.example/">"#),
        "{}",
        page.text
    );
    // The page has a tick, and says what comes next.
    for part in [
        r#"<div class="notice good" role="status">"#,
        r#"<svg class="tick""#,
        "You’ve shared your records with Well",
        "gets them in the next few minutes",
    ] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    // The page has no form.
    assert!(!page.text.contains("<form"), "{}", page.text);
}

#[test]
fn who_has_shared_nothing_can_begin_again_at_the_application() {
    let world = World::new();
    for cancels in [true, false] {
        let mut browser = world.enter(&[]);
        if cancels {
            browser.press("cancel", &[]);
        } else {
            world.store().clock().advance(IDLE_SECONDS);
            browser.go("/connect");
        }
        let page = browser.go("/connect");
        assert_eq!(
            (page.status, page.heading().as_str()),
            (410, "This page isn’t open any more")
        );
        assert!(
            page.text.contains("Nothing was shared with Well &#38; &#60;b&#62;Good"),
            "{}",
            page.text
        );
        assert!(page.text.contains(r#"href="https://app.example/""#), "{}", page.text);
        assert!(!page.text.contains("class=\"tick\""), "{}", page.text);
    }
}

#[test]
fn an_application_that_is_no_website_is_named_and_not_linked_to() {
    let world = World::new();
    let mut browser = world.enter(&[("redirect_uri", "com.example.app:/cb")]);
    browser.press("cancel", &[]);
    let page = browser.go("/connect");
    assert!(page.text.contains("Nothing was shared with"), "{}", page.text);
    assert!(!page.text.contains("class=\"button\""), "{}", page.text);
}

#[test]
fn who_comes_from_nowhere_is_told_where_to_begin() {
    let world = World::new();
    let mut browser = world.browser();
    for invented in [None, Some("invented"), Some("%00"), Some("../../x")] {
        if let Some(value) = invented {
            browser.cookies.insert("svc_left".to_owned(), value.to_owned());
        }
        let page = browser.go("/connect");
        assert_eq!(
            (page.status, page.heading().as_str()),
            (410, "This page isn’t open any more")
        );
        assert!(
            page.text.contains("go back to the app or website that sent you"),
            "{}",
            page.text
        );
    }
}

#[test]
fn a_name_that_is_typed_on_leaves_it_to_the_page_to_tell_the_application() {
    // The page's script followed the redirect in the background, where it leads nowhere. So the application was never
    // told.
    let world = World::new();
    let mut browser = world.enter(&[]);
    world.store().clock().advance(IDLE_SECONDS);
    assert_eq!(browser.ask("GET", "/connect/organizations?q=x", None).status, 410);
    let page = browser.go("/connect");
    assert!(page.answer("error_uri").unwrap().ends_with("/errors/session_timeout"));
}

#[test]
fn a_form_of_an_older_window_leads_to_the_newest() {
    let world = World::new();
    let mut browser = world.enter(&[]);
    let older = browser.page.clone();
    browser.go(&world.authorize(&[("state", "newer")]));
    browser.page = older;
    let page = browser.press("choose", &[("endpoint", "lakeshore")]);
    assert_eq!(
        (page.status, page.heading().as_str()),
        (403, "You continued in another window")
    );
    // Nothing failed, so the page shows no error.
    assert!(
        !page.text.contains("notice bad") && !page.text.contains(r#"role="alert""#),
        "{}",
        page.text
    );
    assert!(
        page.text.contains(r#"<a class="button" href="/connect">"#),
        "{}",
        page.text
    );
    assert_eq!(browser.go("/connect").heading(), "Where are your records?");
    assert_eq!(browser.press("cancel", &[]).answer("state").as_deref(), Some("newer"));
}
