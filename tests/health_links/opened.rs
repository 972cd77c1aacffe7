//! The recipients' side: manifests, files inside manifests and at their own addresses, and direct files.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::{Value, json};
use tabularium::http::{Limits, Rate, Rates};

use super::{Link, audit, made, never, over, records, server};
use crate::harness::server::{START, Server};

/// Which of the expected texts a document contains.
fn shows(document: &Value) -> [bool; 3] {
    assert_eq!(
        (&document["resourceType"], &document["type"]),
        (&json!("Bundle"), &json!("document"))
    );
    let text = document.to_string();
    ["Anna Example", "Asthma", "Gout"].map(|name| text.contains(name))
}

#[test]
fn a_link_leads_to_the_summary_of_its_patient() {
    let server = server();
    let made = made(&server, &json!({"label": "For Dr. Müller"}));
    let link = Link::of(&server, &made);
    let url = link.payload["url"].as_str().unwrap();
    assert!(url.len() <= 128 && url.rsplit('/').next().unwrap().len() == 43, "{url}");
    assert_eq!(link.payload["key"].as_str().unwrap().len(), 43);
    assert_eq!(
        (&link.payload["label"], &link.payload["v"]),
        (&json!("For Dr. Müller"), &json!(1))
    );
    assert_eq!(
        (link.payload.get("flag"), &link.payload["exp"]),
        (None, &json!(START + 30 * 86_400))
    );
    assert_eq!(
        made["viewerUrl"],
        format!(
            "http://{}/health-link#{}",
            server.address,
            made["link"].as_str().unwrap()
        )
    );
    for (form, media) in [("png", "image/png"), ("svg", "image/svg+xml")] {
        assert!(
            made["qr"][form]
                .as_str()
                .unwrap()
                .starts_with(&format!("data:{media};base64,"))
        );
    }

    let answer = link.manifest(&server, &json!({"embeddedLengthMax": 1_000_000}));
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/json")
    );
    assert_eq!(
        (
            answer.header("access-control-allow-origin"),
            answer.header("cache-control")
        ),
        ("*", "no-store")
    );
    let manifest = answer.json();
    let [file] = manifest["files"].as_array().unwrap().as_slice() else {
        panic!("{manifest}");
    };
    assert_eq!(
        (&file["contentType"], &file["fhirVersion"]),
        (&json!("application/fhir+json"), &json!("4.0.1"))
    );
    assert!(file.get("location").is_none());
    assert_eq!(
        shows(&link.document(file["embedded"].as_str().unwrap())),
        [true, true, false]
    );
    assert_eq!(
        audit(&server, "health-link.used"),
        [format!("{} Dr. Test", made["id"].as_str().unwrap())]
    );
}

#[test]
fn a_file_that_is_longer_than_the_client_takes_has_a_location_for_an_hour() {
    let server = server();
    let link = Link::of(&server, &made(&server, &json!({})));
    let embedded = link.manifest(&server, &json!({})).json()["files"][0]["embedded"]
        .as_str()
        .unwrap()
        .to_owned();
    let at_most =
        |length: usize| link.manifest(&server, &json!({"embeddedLengthMax": length})).json()["files"][0].clone();
    assert_eq!(at_most(embedded.len())["embedded"], embedded);
    let file = at_most(embedded.len() - 1);
    assert!(file.get("embedded").is_none());
    let base = format!("http://{}", server.address);
    let location = file["location"]
        .as_str()
        .unwrap()
        .strip_prefix(&base)
        .unwrap()
        .to_owned();
    let answer = server.send("GET", &location, &[], "");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/jose")
    );
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.text, embedded);
    assert_eq!(shows(&link.document(&answer.text)), [true, true, false]);

    // A ticket is valid only for its link, and only unchanged.
    let other = Link::of(&server, &made(&server, &json!({})));
    let ticket = location.rsplit('/').next().unwrap();
    for path in [
        format!("{}/file/{ticket}", other.path),
        format!("{location}A"),
        format!("{}/file/x", link.path),
    ] {
        assert_eq!(over(&server.send("GET", &path, &[], "")), never(&server), "{path}");
    }
    server.store.clock().advance(3_599);
    assert_eq!(server.send("GET", &location, &[], "").status, 200);
    server.store.clock().advance(1);
    assert_eq!(over(&server.send("GET", &location, &[], "")), never(&server));
}

#[test]
fn a_direct_link_is_the_file_itself() {
    let server = server();
    let link = Link::of(&server, &made(&server, &json!({"flag": "U"})));
    assert_eq!(link.payload["flag"], "U");
    let path = format!("{}?recipient=St.%20Mary", link.path);
    assert_eq!(server.send("HEAD", &path, &[], "").status, 200);
    assert!(
        audit(&server, "health-link.used").is_empty(),
        "nobody was given the file"
    );
    let answer = server.send("GET", &path, &[], "");
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, "application/jose")
    );
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(shows(&link.document(&answer.text)), [true, true, false]);
    assert!(audit(&server, "health-link.used")[0].ends_with(" St. Mary"));
    for query in ["", "?recipient=", "?recipient=%20"] {
        assert_eq!(
            server.send("GET", &format!("{}{query}", link.path), &[], "").status,
            400,
            "{query}"
        );
    }
    // Only such a link can be opened directly.
    for body in [json!({}), json!({"passcode": "2468"})] {
        let link = Link::of(&server, &made(&server, &body));
        let answer = server.send("GET", &format!("{}?recipient=St.%20Mary", link.path), &[], "");
        assert_eq!(over(&answer), never(&server), "{body}");
    }
}

#[test]
fn a_request_that_is_no_manifest_request_is_refused_by_name() {
    let server = server();
    let link = Link::of(&server, &made(&server, &json!({})));
    for (body, name) in [
        ("", "JSON"),
        ("[]", "JSON"),
        ("{}", "recipient"),
        (r#"{"recipient": "\u0007 "}"#, "recipient"),
        (r#"{"recipient": 1}"#, "recipient"),
        (r#"{"recipient": "a", "embeddedLengthMax": -1}"#, "embeddedLengthMax"),
        (r#"{"recipient": "a", "passcode": 1}"#, "passcode"),
    ] {
        let answer = server.send("POST", &link.path, &[("content-type", "application/json")], body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.text);
        assert!(
            answer.json()["message"].as_str().unwrap().contains(name),
            "{body}: {}",
            answer.text
        );
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
    let plain = server.send(
        "POST",
        &link.path,
        &[("content-type", "text/plain")],
        r#"{"recipient": "a"}"#,
    );
    assert_eq!(plain.status, 415);
    let asked = server.send("OPTIONS", &link.path, &[("origin", "https://viewer.example")], "");
    assert_eq!(asked.status, 204);
    assert!(asked.header("access-control-allow-methods").contains("POST"));
    assert_eq!(asked.header("access-control-allow-headers"), "*");
}

#[test]
fn a_recipient_is_noted_on_one_line_of_bounded_length() {
    let server = server();
    let link = Link::of(&server, &made(&server, &json!({})));
    let name = format!("A\nB\u{0}C {}", "x".repeat(500));
    assert_eq!(link.manifest(&server, &json!({"recipient": name})).status, 200);
    let noted = audit(&server, "health-link.used").remove(0);
    let (_, noted) = noted.split_once(' ').unwrap();
    assert!(noted.starts_with("A BC xxx") && noted.chars().count() == 200, "{noted}");
}

#[test]
fn scripts_of_any_page_learn_that_they_ask_too_often() {
    let rates = Rates {
        writes: Some(Rate {
            every: Duration::from_secs(3_600),
            burst: NonZeroU32::new(2).unwrap(),
        }),
        address: Some(Rate {
            every: Duration::from_secs(3_600),
            burst: NonZeroU32::new(4).unwrap(),
        }),
        ..Rates::default()
    };
    let limits = Limits {
        rates,
        ..Limits::default()
    };
    let server = Server::limited(&records(), limits);
    let link = Link::of(&server, &made(&server, &json!({})));
    let statuses = [200, 200, 429, 429, 429];
    for (at, status) in statuses.into_iter().enumerate() {
        let answer = link.manifest(&server, &json!({}));
        assert_eq!(answer.status, status, "{at}: {}", answer.text);
        assert_eq!(answer.header("access-control-allow-origin"), "*", "{at}");
        assert_eq!(answer.header("retry-after").is_empty(), status == 200, "{at}");
    }
    assert_eq!(audit(&server, "health-link.used").len(), 2);
}

/// The page was in English for everybody.
#[test]
fn the_page_that_opens_links_speaks_the_readers_language() {
    let server = server();
    let spanish = server.send("GET", "/health-link", &[("accept-language", "es-MX, en;q=0.5")], "");
    for part in [
        "<html lang=\"es\"",
        "Registro médico compartido",
        "Abriendo el registro…",
        "Código de acceso",
    ] {
        assert!(spanish.text.contains(part), "{part}: {}", spanish.text);
    }
    assert!(!spanish.text.contains("This page needs JavaScript"), "{}", spanish.text);
    let switched = server.redirect("/health-link?language=es", &[]);
    assert!(
        switched.header("set-cookie").contains("svc_language=es"),
        "{:?}",
        switched.headers
    );
    let english = server.send("GET", "/health-link", &[], "");
    assert!(
        english.text.contains("href=\"health-link?language=es\" lang=\"es\""),
        "{}",
        english.text
    );
    // A text that the script asks for is on the page.
    let texts = english
        .text
        .split("data-texts=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let texts = texts.replace("&#34;", "\"").replace("&#39;", "'").replace("&#38;", "&");
    let texts: serde_json::Value = serde_json::from_str(&texts).unwrap();
    // Texts about a number of tries come in the plural form of each number.
    assert!(texts["wrong_1"].as_str().unwrap().contains("You have one more try."));
    assert!(texts["wrong_9"].as_str().unwrap().contains("You have 9 more tries."));
    let asked = regex::Regex::new(r"said\('([a-z_]+)'").unwrap();
    for name in ["viewer.js", "card.js", "bytes.js"] {
        let script = server.send("GET", &format!("/health-link/{name}"), &[], "").text;
        for found in asked.captures_iter(&script) {
            assert!(texts[&found[1]].is_string(), "{name}: {}", &found[1]);
        }
    }
}

#[test]
fn the_page_that_opens_links_runs_only_what_is_its_own() {
    let server = server();
    let page = server.send("GET", "/health-link", &[], "");
    assert_eq!(
        (page.status, page.header("content-type")),
        (200, "text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(
        (page.header("referrer-policy"), page.header("x-frame-options")),
        ("no-referrer", "DENY")
    );
    assert!(
        page.text.contains("This page needs JavaScript"),
        "it says what it needs"
    );
    for inline in ["<style", " style=", "onclick", "<script>"] {
        assert!(!page.text.contains(inline), "{inline}");
    }
    for (name, media) in [
        ("viewer.js", "text/javascript"),
        ("narrative.js", "text/javascript"),
        ("texts.js", "text/javascript"),
        ("viewer.css", "text/css"),
    ] {
        let asset = server.send("GET", &format!("/health-link/{name}"), &[], "");
        assert_eq!(
            (asset.status, asset.header("content-type")),
            (200, format!("{media}; charset=utf-8").as_str())
        );
        for markup in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
        ] {
            assert!(!asset.text.contains(markup), "{name}: {markup}");
        }
    }
    let none = server.send("GET", "/health-link/none.js", &[], "");
    assert_eq!((none.status, none.header("content-type")), (404, "application/json"));
    // A patient with a damaged link sees a page.
    let page = server.send("GET", "/health-link/none.js", &[("accept", "text/html,*/*;q=0.8")], "");
    assert_eq!(
        (page.status, page.header("content-type")),
        (404, "text/html; charset=utf-8")
    );
    assert!(
        page.text.contains("<h1>There’s nothing at this address</h1>"),
        "{}",
        page.text
    );
}
