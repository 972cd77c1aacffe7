//! Rate limits of clients, and the responses when they are exceeded.

use std::num::NonZeroU32;
use std::time::Duration;

use tabularium::consent::{Actor, NewApplication};
use tabularium::http::{Limits, Rate, Rates};
use tabularium::lake::Mode;

use crate::harness::server::Server;

/// A rate so slow that no allowance returns during a test.
fn once_in_a_while(burst: u32) -> Option<Rate> {
    Some(Rate {
        every: Duration::from_secs(3_600),
        burst: NonZeroU32::new(burst).unwrap(),
    })
}

fn server(rates: Rates) -> Server {
    let limits = Limits {
        rates,
        ..Limits::default()
    };
    Server::limited(&[], limits)
}

fn token_of(server: &Server, name: &str) -> String {
    let new = NewApplication {
        name,
        ..NewApplication::default()
    };
    let (application, _) = server.store.applications().create(&new, Actor::Operator).unwrap();
    server
        .tokens
        .for_application(&application.id, Mode::Live)
        .unwrap()
        .token
}

#[test]
fn a_credential_that_asks_too_often_is_told_when_to_come_back() {
    let server = server(Rates {
        credential: once_in_a_while(100),
        ..Rates::default()
    });
    let (one, other) = (token_of(&server, "one"), token_of(&server, "other"));
    let first = server.get("/fhir/Patient", &one);
    assert_eq!((first.status, first.header("x-ratelimit-limit")), (200, "100"));
    assert_eq!(
        (first.header("x-ratelimit-remaining"), first.header("x-ratelimit-reset")),
        ("99", "3600")
    );
    for _ in 1..100 {
        assert_eq!(server.get("/fhir/Patient", &one).status, 200);
    }
    let refused = server.get("/fhir/Patient", &one);
    assert_eq!((refused.status, refused.issue().as_str()), (429, "throttled"));
    assert_eq!(refused.header("x-ratelimit-remaining"), "0");
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=3_600).contains(&wait), "{wait}");
    assert_eq!(refused.header("x-ratelimit-limit"), "100");
    assert!(!refused.header("x-request-id").is_empty());
    assert_eq!(
        server.get("/fhir/Patient", &other).status,
        200,
        "another application has its own"
    );
    for _ in 0..150 {
        assert_eq!(
            server.get("/fhir/Patient", &server.application_token()).status,
            200,
            "the operator's is not counted"
        );
    }
}

#[test]
fn tokens_of_one_application_share_what_it_may() {
    let server = server(Rates {
        credential: once_in_a_while(4),
        ..Rates::default()
    });
    let token = token_of(&server, "one");
    let again = server.tokens.for_application("one", Mode::Live).unwrap().token;
    assert_ne!(token, again);
    assert_eq!(server.get("/fhir/Patient", &token).header("x-ratelimit-remaining"), "3");
    assert_eq!(server.get("/fhir/Patient", &again).header("x-ratelimit-remaining"), "2");
}

#[test]
fn routes_without_a_credential_are_limited_by_address() {
    let server = server(Rates {
        address: once_in_a_while(50),
        ..Rates::default()
    });
    for path in ["/endpoints", "/fhir/metadata", "/oauth/token"] {
        let refused = loop {
            let answer = server.send("GET", path, &[], "");
            if answer.status == 429 {
                break answer;
            }
        };
        let json = refused.json();
        let shape = match path {
            "/fhir/metadata" => json["issue"][0]["code"] == "throttled",
            "/oauth/token" => {
                let description = json["error_description"].as_str().unwrap();
                description.starts_with("throttled: this is more than")
                    && refused.oauth_error() == (429, "temporarily_unavailable".to_owned())
            }
            _ => json["message"].is_string(),
        };
        assert!(shape, "{json}");
        assert_eq!(refused.header("x-ratelimit-limit"), "50");
        assert_ne!(refused.header("retry-after"), "");
    }
    let token = server.application_token();
    assert_eq!(
        server.get("/fhir/Patient", &token).status,
        200,
        "who has a token is not kept out with them"
    );
}

#[test]
fn guessing_credentials_is_charged_to_the_address() {
    let server = server(Rates {
        address: once_in_a_while(50),
        ..Rates::default()
    });
    let mut statuses = Vec::new();
    while statuses.last() != Some(&429) {
        statuses.push(server.get("/fhir/Patient", "guess").status);
    }
    assert_eq!(statuses[0], 401);
    assert_eq!(statuses.len(), 51);
}

#[test]
fn a_route_that_needs_no_credential_is_not_opened_wider_by_one() {
    let server = server(Rates {
        address: once_in_a_while(50),
        ..Rates::default()
    });
    let token = server.application_token();
    while server.get("/endpoints", &token).status != 429 {}
    assert_eq!(server.get("/fhir/Patient", &token).status, 200);
    assert_eq!(server.get("/elsewhere", &token).status, 429);
}

#[test]
fn what_is_kept_without_a_credential_is_limited_more_narrowly() {
    let server = server(Rates {
        writes: once_in_a_while(30),
        ..Rates::default()
    });
    let json = [("content-type", "application/json")];
    let application = r#"{"name":"A","email":"a@b.example","why":"w","location":"l","resume":"https://a.example"}"#;
    for _ in 0..30 {
        assert_eq!(server.send("POST", "/apply", &json, application).status, 202);
    }
    let refused = server.send("POST", "/apply", &json, application);
    assert_eq!(refused.status, 429);
    assert_ne!(refused.header("retry-after"), "");
    assert!(refused.json()["message"].is_string());
    assert_eq!(server.store.applicants().newest(1_000).unwrap().len(), 30);
    let client = r#"{"client_name":"x","redirect_uris":["https://x.example/cb"]}"#;
    let registered = server.send("POST", "/oauth/register", &json, client);
    assert_eq!(
        registered.status, 429,
        "registrations count with them: {}",
        registered.text
    );
    assert_eq!(server.send("GET", "/endpoints", &[], "").status, 200, "reading goes on");
}

#[test]
fn a_crowded_door_shows_a_page_whose_language_can_be_chosen() {
    let server = server(Rates {
        flows: once_in_a_while(1),
        ..Rates::default()
    });
    let new = NewApplication {
        name: "A",
        redirect_uris: &["https://a.example/cb".to_owned()],
        ..NewApplication::default()
    };
    let (_, keys) = server.store.applications().create(&new, Actor::Operator).unwrap();
    let query = format!(
        "?client_id={}&redirect_uri=https%3A%2F%2Fa.example%2Fcb&response_type=code&code_challenge={}\
         &code_challenge_method=S256&scope=launch%2Fpatient&svc_external_id=u",
        keys[0].publishable,
        "c".repeat(43)
    );
    let door = format!("/oauth/authorize{query}");
    assert_eq!(server.redirect(&door, &[]).status, 303);
    let busy = server.send("GET", &door, &[], "");
    assert_eq!(busy.status, 429, "{}", busy.text);
    // The link asks for the same again.
    let link = format!(r#"<a href="{}&#38;language=es""#, query.replace('&', "&#38;"));
    assert!(busy.text.contains(&link), "{link}: {}", busy.text);
    let spanish = server.send("GET", &format!("{door}&language=es"), &[], "");
    assert_eq!(spanish.status, 429);
    assert!(spanish.text.contains(r#"<html lang="es""#), "{}", spanish.text);
}

#[test]
fn behind_a_proxy_addresses_are_those_that_it_adds() {
    let server = server(Rates {
        address: once_in_a_while(50),
        behind_proxy: true,
        ..Rates::default()
    });
    let from = |address: &str| {
        server
            .send("GET", "/endpoints", &[("x-forwarded-for", address)], "")
            .status
    };
    while from("198.51.100.1, 192.0.2.1") != 429 {}
    assert_eq!(from("192.0.2.1, 192.0.2.2"), 200);
}

#[test]
fn without_limits_nothing_is_counted() {
    let server = server(Rates::default());
    let answer = server.get("/fhir/Patient", &token_of(&server, "one"));
    assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, ""));
}
