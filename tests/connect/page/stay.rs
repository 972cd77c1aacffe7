//! The time of a session, and its extension.

use tabularium::consent::{ConsentState, IDLE_SECONDS};

use super::super::world::World;

#[test]
fn pages_say_when_they_close_and_ask_before() {
    let world = World::new();
    let browser = world.enter(&[]);
    let text = &browser.page.text;
    // Without scripts the page says for how long it is open. A script knows the time of day in the reader's time zone.
    assert!(text.contains(">Open for 30 minutes</span>"), "{text}");
    assert!(text.contains(r#"data-until="Open until {time}""#), "{text}");
    assert!(text.contains("Loading it again gives you more time."), "{text}");
    assert!(!text.contains("UTC"), "{text}");
    assert!(text.contains(&format!(r#"data-seconds="{IDLE_SECONDS}""#)), "{text}");
    let spanish = world.enter(&[("ui_locales", "es")]).page.text;
    assert!(spanish.contains(">Abierta 30 minutos</span>"), "{spanish}");
    assert!(
        text.contains(r#"<dialog id="staying" role="alertdialog" aria-labelledby="staying-title""#),
        "{text}"
    );
    // Pages outside of a session have no timeout.
    let mut stranger = world.browser();
    for address in ["/errors", "/connect/callback/x"] {
        let page = stranger.go(address);
        assert!(
            !page.text.contains("Open for") && !page.text.contains("<dialog"),
            "{}",
            page.text
        );
    }
}

#[test]
fn who_stays_has_the_whole_time_again() {
    let world = World::new();
    let mut browser = world.enter(&[("svc_search_mode", "true")]);
    browser.send("details", &[]);
    let shown = browser.page.clone();
    for _ in 0..11 {
        world.store().clock().advance(IDLE_SECONDS - 1);
        browser.page = shown.clone();
        let page = browser.press("stay", &[]);
        // The browser stays on its page, with the text typed there.
        assert_eq!((page.status, page.text.as_str()), (204, ""));
    }
    assert_eq!(browser.go("/connect").heading(), shown.heading());
    world.store().clock().advance(IDLE_SECONDS);
    browser.page = shown;
    let page = browser.press("stay", &[]);
    assert_ne!(page.status, 204, "it is too late");
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}

#[test]
fn nobody_else_keeps_a_session_open() {
    let world = World::new();
    let browser = world.enter(&[]);
    let mut stranger = world.browser();
    stranger.page = browser.page.clone();
    assert_eq!(stranger.press("stay", &[]).status, 410);
    world.store().clock().advance(IDLE_SECONDS - 1);
    stranger.page = browser.page.clone();
    stranger.press("stay", &[]);
    world.store().clock().advance(1);
    world.store().sweep().unwrap();
    assert_eq!(world.consent().state, ConsentState::Abandoned);
}
