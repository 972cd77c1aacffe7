//! The pages in the reader's language.

use tabularium::http::{Languages, Pages};

use super::super::browser::{Browser, Page};
use super::super::world::World;
use super::pseudo::{MARKS, accented, arabic, write};

/// A service with two more languages, one of them written from right to left.
fn polyglot() -> World {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "en-XA", accented);
    write(folder.path(), "ar", arabic);
    let pages = Pages {
        languages: Languages::with_folder(folder.path()).unwrap(),
        ..Pages::default()
    };
    World::showing(pages)
}

/// A browser in a new flow that prefers this language.
fn reader(world: &World, language: &str, changes: &[(&str, &str)]) -> Browser {
    let mut changes = changes.to_vec();
    changes.push(("ui_locales", language));
    world.enter(&changes)
}

/// The texts and names on a page, without its markup.
fn said(page: &Page) -> String {
    let head = regex::Regex::new(r"(?s)<(code|noscript|li><a href=[^>]* lang=)[^>]*>.*?</(code|noscript|a)>").unwrap();
    let tag = regex::Regex::new(r"(?s)<[^>]*>").unwrap();
    tag.replace_all(&head.replace_all(&page.text, ""), "\n").into_owned()
}

/// The texts on a page that do not come from the marked language.
fn unmarked(page: &Page) -> Vec<String> {
    let mut depth = 0;
    let mut rest = String::new();
    for letter in said(page).chars() {
        match letter {
            letter if letter == MARKS[0] => depth += 1,
            letter if letter == MARKS[1] => depth -= 1,
            letter if depth == 0 => rest.push(letter),
            _ => {}
        }
    }
    assert_eq!(depth, 0, "{}", page.text);
    let words = rest
        .lines()
        .map(str::trim)
        .filter(|line| line.contains(char::is_alphabetic));
    words.map(str::to_owned).collect()
}

/// Visits all pages that a patient sees within the service.
fn walk(world: &World, language: &str, mut see: impl FnMut(&str, &Page)) {
    let mut browser = reader(world, language, &[("svc_search_mode", "true")]);
    see("find", &browser.page);
    browser.send("choose", &[("endpoint", "lakeshore")]);
    see("review", &browser.page);
    world.connect(&mut browser);
    see("hub", &browser.page);
    let mut browser = reader(world, language, &[("svc_search_mode", "true")]);
    see("nothing", browser.go("/connect/find?q=zzz"));
    browser.send("details", &[]);
    see("details", &browser.page);
    browser.press("search", &[]);
    see("to correct", &browser.page);
    browser.send(
        "search",
        &[("given", "No"), ("family", "Body"), ("birth_date", "1980-01-02")],
    );
    see("none", &browser.page);
    browser.press("leave", &[]);
    browser.go("/connect");
    see("over", &browser.page);
    let mut browser = reader(world, language, &[("svc_ial2_mode", "true")]);
    see("identity", &browser.page);
    see("codes", browser.go("/errors"));
    see("code", browser.go("/errors/session_timeout"));
    see("stray", browser.go("/connect/callback/x"));
}

#[test]
fn every_word_of_every_page_comes_from_its_language() {
    let world = polyglot();
    for language in ["en-XA", "ar"] {
        walk(&world, language, |name, page| {
            let names = ["Well &#38; &#60;b&#62;Good", "Truename"];
            let strange = unmarked(page);
            let strange: Vec<_> = strange.iter().filter(|text| !is_name(&world, text, &names)).collect();
            assert!(strange.is_empty(), "{language} {name}: {strange:?}");
            assert!(
                page.text.contains(&format!(r#"<html lang="{language}""#)),
                "{name}: {}",
                page.text
            );
        });
    }
}

/// Whether a text is a name from the directory.
fn is_name(world: &World, text: &str, others: &[&str]) -> bool {
    let endpoints = world.store().endpoints().all(None).unwrap();
    let known = |text: &str| {
        endpoints
            .iter()
            .any(|one| one.label.iter().any(|label| label == text) || one.organization.name == text)
    };
    text.split(" · ").all(|part| known(part.trim())) || others.iter().any(|name| text.contains(name))
}

#[test]
fn spanish_pages_are_spanish_and_have_no_gaps() {
    let world = World::new();
    let mut seen = 0;
    walk(&world, "es", |name, page| {
        seen += 1;
        assert!(page.text.contains(r#"<html lang="es" dir="ltr">"#), "{name}");
        let said = said(page);
        assert!(!said.contains(['{', '}']), "{name}: {said}");
        for english in ["your ", " the ", "Cancel ", "Search"] {
            assert!(!said.contains(english), "{name}: {english}: {said}");
        }
    });
    assert!(seen > 10);
}

#[test]
fn the_language_is_the_browsers_until_somebody_chooses_another() {
    let world = polyglot();
    let mut browser = world.enter(&[]);
    assert!(browser.page.text.contains(r#"<html lang="en" dir="ltr">"#));
    let spanish = world
        .server
        .send("GET", "/errors", &[("accept-language", "es-MX, en;q=0.5")], "");
    assert!(spanish.text.contains("Códigos de error"), "{}", spanish.text);
    // The switch leads to the same page, and the choice is remembered.
    let link = r#"<a href="/connect?language=ar" lang="ar" dir="rtl""#;
    assert!(browser.page.text.contains(link), "{}", browser.page.text);
    let page = browser.go("/connect?language=ar");
    assert!(page.text.contains(r#"<html lang="ar" dir="rtl">"#), "{}", page.text);
    assert!(
        !page
            .text
            .contains("language=ar\" lang=\"ar\" dir=\"rtl\" hreflang=\"ar\">"),
        "{}",
        page.text
    );
    browser.send("choose", &[("endpoint", "lakeshore")]);
    assert!(browser.page.text.contains(r#"dir="rtl""#), "{}", browser.page.text);
    assert!(browser.go("/errors").text.contains(r#"dir="rtl""#));
    // An unknown language changes nothing.
    assert!(browser.go("/connect?language=tlh").text.contains(r#"dir="rtl""#));
    let page = browser.go("/errors/abandoned?language=en");
    assert!(page.text.contains("What you started was ended"), "{}", page.text);
}

#[test]
fn a_link_that_does_not_work_says_so_in_the_language_that_is_chosen() {
    let world = World::new();
    for (change, why, spanish) in [
        (("client_id", "x"), "client", "No conocemos la aplicación"),
        (("redirect_uri", ""), "no-redirect", "no dijo adónde enviarlo de vuelta"),
        (
            ("redirect_uri", "https://evil.example/"),
            "redirect",
            "una dirección que no es suya",
        ),
    ] {
        let mut browser = world.browser();
        let english = browser.ask("GET", &world.authorize(&[change]), None).clone();
        let address = format!("/connect/untrusted/{why}?language=es");
        let link = format!(r#"<a href="{address}" lang="es""#);
        assert!(english.text.contains(&link), "{link}: {}", english.text);
        let page = browser.go(&address);
        assert_eq!(page.status, 400, "{why}");
        assert!(page.text.contains(spanish), "{why}: {}", page.text);
    }
    let mut browser = world.browser();
    assert_eq!(browser.go("/connect/untrusted/elsewhere").status, 404);
    // A callback cannot be asked for again.
    assert!(
        !browser
            .go("/connect/callback/x")
            .text
            .contains(r#"<details class="languages">"#)
    );
}

#[test]
fn a_folder_with_a_broken_language_is_refused_at_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fr.ftl"), "cancel = Retour à { $somebody }").unwrap();
    let data = tempfile::tempdir().unwrap();
    drop(crate::harness::kind::open_or_create(data.path()));
    let options = ["serve", "--listen", "127.0.0.1:0", "--until-stdin-ends", "--languages"];
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tabularium"))
        .args(options)
        .arg(folder.path())
        .arg("--data")
        .arg(data.path())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("fr.ftl: cancel: the pages do not fill $somebody here"),
        "{said}"
    );
}

#[test]
fn a_language_may_leave_texts_out() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fr.ftl"), "choose_title = Où sont vos dossiers ?").unwrap();
    let pages = Pages {
        languages: Languages::with_folder(folder.path()).unwrap(),
        ..Pages::default()
    };
    let world = World::showing(pages);
    let browser = reader(&world, "fr-CA fr", &[]);
    assert_eq!(browser.page.heading(), "Où sont vos dossiers ?");
    assert!(
        browser.page.text.contains("Name of your plan or provider"),
        "{}",
        browser.page.text
    );
}
