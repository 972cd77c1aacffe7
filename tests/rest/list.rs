//! `GET /rest/consents`.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tabularium::consent::Actor;
use tabularium::lake::Mode;

use super::{server, token};
use crate::harness::consented::{App, Flow};
use crate::harness::server::Server;

/// Gets a page of the list.
fn page(server: &Server, query: &str, token: &str) -> Value {
    let answer = server.get(&format!("/rest/consents?{query}"), token);
    assert_eq!(
        (answer.status, answer.header("cache-control")),
        (200, "no-store"),
        "{query}: {}",
        answer.text
    );
    let page = answer.json();
    assert_eq!(
        page["meta"]["hasMore"],
        !page["meta"]["nextCursor"].is_null(),
        "{}",
        page["meta"]
    );
    page
}

fn ids(page: &Value) -> Vec<String> {
    let consents = page["consents"].as_array().unwrap();
    consents
        .iter()
        .map(|consent| consent["id"].as_str().unwrap().to_owned())
        .collect()
}

/// All ids found by following the cursors, and the number of pages.
fn walk(server: &Server, query: &str, token: &str) -> (Vec<String>, usize) {
    let (mut met, mut pages) = (Vec::new(), 0);
    let mut cursor = String::new();
    loop {
        let page = page(server, &format!("{query}{cursor}"), token);
        met.extend(ids(&page));
        pages += 1;
        match page["meta"]["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (met, pages),
        }
    }
}

/// Creates this many consents, always two in the same second. Returns their ids, newest first.
fn made(server: &Server, app: &App, many: usize) -> Vec<String> {
    let flow = Flow {
        places: &[],
        ..Flow::of(app)
    };
    let mut ids: Vec<(i64, String)> = (0..many)
        .map(|at| {
            if at % 2 == 0 {
                server.store.clock().advance(1);
            }
            (
                server.store.clock().now(),
                flow.begin(&server.store, &server.lake).consent,
            )
        })
        .collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids.into_iter().map(|(_, id)| id).collect()
}

#[test]
fn consents_come_in_pages_of_20_and_of_100_at_most() {
    let (server, app) = server();
    let expected = made(&server, &app, 105);
    let token = token(&server, &app, Mode::Test);
    assert_eq!(ids(&page(&server, "", &token)), expected[..20]);
    assert_eq!(ids(&page(&server, "limit=100", &token)), expected[..100]);
    assert_eq!(walk(&server, "", &token), (expected.clone(), 6));
    assert_eq!(walk(&server, "limit=35", &token), (expected.clone(), 3));
    assert_eq!(walk(&server, "limit=100", &token), (expected, 2));
    for limit in ["0", "101", "-1", "many", "1.5", "", "99999999999999999999"] {
        let answer = server.get(&format!("/rest/consents?limit={limit}"), &token);
        assert_eq!(answer.status, 400, "{limit}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with("limit"));
    }
}

#[test]
fn a_list_holds_summaries_without_sync_and_scope() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    finished.tokens(&server);
    let page = page(&server, "skipResourceCounts=true", &token(&server, &app, Mode::Test));
    let path = format!("/rest/consent/{}", finished.consent);
    let mut full = server.get(&path, &token(&server, &app, Mode::Test)).json();
    let authorization = full["patientAuthorizations"][0].as_object_mut().unwrap();
    assert!(authorization.remove("sync").is_some() && authorization.remove("scope").is_some());
    assert_eq!(
        page,
        json!({"consents": [full], "meta": {"hasMore": false, "nextCursor": null}})
    );
}

#[test]
fn a_state_narrows_the_list() {
    let (server, app) = server();
    let token = token(&server, &app, Mode::Test);
    let created = made(&server, &app, 1);
    let exchanged = Flow::of(&app).finish(&server);
    exchanged.tokens(&server);
    let authorized = Flow::of(&app).finish(&server);
    let revoked = Flow::of(&app).finish(&server);
    server
        .store
        .consents()
        .revoke(&revoked.consent, Actor::Operator)
        .unwrap();
    for (state, expected) in [
        ("CREATED", vec![created[0].clone()]),
        ("AUTHORIZED", vec![authorized.consent]),
        ("EXCHANGED", vec![exchanged.consent]),
        ("REVOKED", vec![revoked.consent]),
        ("ABANDONED", vec![]),
    ] {
        assert_eq!(
            ids(&page(&server, &format!("state={state}"), &token)),
            expected,
            "{state}"
        );
    }
    for state in ["created", "BOUNCED", "", "' OR 1=1 --"] {
        let state = state.replace(' ', "%20");
        let answer = server.get(&format!("/rest/consents?state={state}"), &token);
        assert_eq!(answer.status, 400, "{state}");
        assert!(answer.json()["message"].as_str().unwrap().starts_with("state"));
    }
}

/// Consents of this many sessions of a user, newest first.
fn of_user(server: &Server, app: &App, user: &str, many: usize) -> Vec<String> {
    let flow = Flow {
        places: &[],
        user: Some(user),
        ..Flow::of(app)
    };
    let made = |_| {
        server.store.clock().advance(1);
        flow.begin(&server.store, &server.lake).consent
    };
    let mut ids: Vec<String> = (0..many).map(made).collect();
    ids.reverse();
    ids
}

#[test]
fn an_external_id_narrows_the_list_and_its_pages() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let (anna, odd) = ("anna", "= b & c/日本");
    let of_anna = of_user(&server, &app, anna, 5);
    let of_odd = of_user(&server, &app, odd, 3);
    of_user(&server, &other, anna, 2);
    let nobody = Flow {
        places: &[],
        user: None,
        ..Flow::link(&app)
    };
    nobody.begin(&server.store, &server.lake);
    let token = token(&server, &app, Mode::Test);
    let query = |user: &str, more: &str| {
        let mut query = form_urlencoded::Serializer::new(more.to_owned());
        query.append_pair("externalId", user);
        query.finish()
    };
    assert_eq!(walk(&server, &query(anna, "limit=2"), &token), (of_anna.clone(), 3));
    assert_eq!(walk(&server, &query(odd, "limit=1"), &token), (of_odd.clone(), 3));
    for user in ["ann", "ANNA", "anna%", "x' OR '1'='1"] {
        assert_eq!(
            ids(&page(&server, &query(user, ""), &token)),
            Vec::<String>::new(),
            "{user}"
        );
    }
    server.store.consents().revoke(&of_anna[2], Actor::Operator).unwrap();
    let revoked = query(anna, "state=REVOKED");
    assert_eq!(ids(&page(&server, &revoked, &token)), [of_anna[2].clone()]);
    // The cursor carries the filter.
    let first = page(&server, &query(odd, "limit=1"), &token);
    let cursor = first["meta"]["nextCursor"].as_str().unwrap();
    assert!(!cursor.contains("anna"));
    let (rest, _) = walk(&server, &format!("limit=1&cursor={cursor}"), &token);
    assert_eq!(rest, of_odd[1..]);
    for (cursor, user) in [
        (cursor.to_owned(), anna),
        (
            page(&server, "limit=1", &token)["meta"]["nextCursor"]
                .as_str()
                .unwrap()
                .to_owned(),
            anna,
        ),
    ] {
        let answer = server.get(&format!("/rest/consents?{}&cursor={cursor}", query(user, "")), &token);
        assert_eq!(answer.status, 400, "{}", answer.text);
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(
            message.contains("externalId") && message.contains("cursor"),
            "{message}"
        );
    }
    let empty = server.get("/rest/consents?externalId=", &token);
    assert_eq!(empty.status, 400, "{}", empty.text);
    assert!(empty.json()["message"].as_str().unwrap().starts_with("externalId"));
}

#[test]
fn a_token_lists_its_application_and_mode_only() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    let (own, foreign) = (made(&server, &app, 3), made(&server, &other, 2));
    let live = Flow {
        mode: Mode::Live,
        places: &[],
        ..Flow::of(&app)
    };
    let live = live.begin(&server.store, &server.lake).consent;
    assert_eq!(ids(&page(&server, "", &token(&server, &app, Mode::Test))), own);
    assert_eq!(ids(&page(&server, "", &token(&server, &app, Mode::Live))), [live]);
    assert_eq!(ids(&page(&server, "", &token(&server, &other, Mode::Test))), foreign);
    assert_eq!(
        ids(&page(&server, "", &token(&server, &other, Mode::Live))),
        Vec::<String>::new()
    );
}

#[test]
fn a_patient_token_lists_nothing() {
    let (server, app) = server();
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    let answer = server.get("/rest/consents", tokens["access_token"].as_str().unwrap());
    assert_eq!(answer.status, 401);
    assert_eq!(
        answer.json(),
        json!({"message": "An Application access token is required for this endpoint."})
    );
}

#[test]
fn what_is_made_while_a_list_is_walked_is_neither_met_nor_in_the_way() {
    let (server, app) = server();
    let expected = made(&server, &app, 6);
    let token = token(&server, &app, Mode::Test);
    let first = page(&server, "limit=2", &token);
    made(&server, &app, 3);
    let cursor = first["meta"]["nextCursor"].as_str().unwrap();
    let (rest, _) = walk(&server, &format!("limit=2&cursor={cursor}"), &token);
    assert_eq!(rest[..2], expected[2..4]);
    let all: BTreeSet<String> = rest.into_iter().collect();
    assert!(all.iter().all(|id| expected.contains(id)), "{all:?}");
}

/// A cursor of one list is refused for other requests.
#[test]
fn a_cursor_is_good_for_the_list_that_gave_it_only() {
    let (server, app) = server();
    let other = App::register(&server.store, "other");
    made(&server, &app, 4);
    made(&server, &other, 4);
    let own = token(&server, &app, Mode::Test);
    let cursor = page(&server, "limit=2", &own)["meta"]["nextCursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let status = |query: &str, token: &str| {
        let answer = server.get(&format!("/rest/consents?{query}"), token);
        if answer.status == 400 {
            assert_eq!(answer.json(), json!({"message": "cursor is none that this list gave"}));
        }
        answer.status
    };
    assert_eq!(status(&format!("limit=1&cursor={cursor}"), &own), 200);
    assert_eq!(
        status(&format!("cursor={cursor}"), &token(&server, &app, Mode::Live)),
        400
    );
    assert_eq!(
        status(&format!("cursor={cursor}"), &token(&server, &other, Mode::Test)),
        400
    );
    assert!(!cursor.contains(&made(&server, &app, 1)[0][..8]));
}

#[test]
fn a_cursor_carries_the_filter_of_its_list() {
    let (server, app) = server();
    let created = made(&server, &app, 5);
    let authorized = Flow::of(&app).begin(&server.store, &server.lake).consent;
    server.store.consents().revoke(&authorized, Actor::Operator).unwrap();
    let token = token(&server, &app, Mode::Test);
    let cursor_of = |query: &str| {
        page(&server, query, &token)["meta"]["nextCursor"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let filtered = cursor_of("limit=2&state=CREATED");
    let (rest, _) = walk(&server, &format!("limit=2&cursor={filtered}"), &token);
    let (same, _) = walk(&server, &format!("limit=2&state=CREATED&cursor={filtered}"), &token);
    assert_eq!((rest.len(), &rest), (3, &same));
    assert!(rest.iter().all(|id| created.contains(id)), "{rest:?}");
    // A different state contradicts the cursor.
    for (cursor, state) in [(&filtered, "REVOKED"), (&cursor_of("limit=2"), "CREATED")] {
        let answer = server.get(&format!("/rest/consents?cursor={cursor}&state={state}"), &token);
        assert_eq!(answer.status, 400, "{}", answer.text);
        let message = answer.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(state) && message.contains("cursor"), "{message}");
    }
}

#[test]
fn a_cursor_that_was_tampered_with_is_refused() {
    let (server, app) = server();
    made(&server, &app, 4);
    let token = token(&server, &app, Mode::Test);
    let cursor = page(&server, "limit=2", &token)["meta"]["nextCursor"]
        .as_str()
        .unwrap()
        .to_owned();
    let refused = |text: &str| {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("cursor", text);
        let answer = server.get(&format!("/rest/consents?{}", query.finish()), &token);
        let message = json!({"message": "cursor is none that this list gave"});
        answer.status == 400 && answer.json() == message
    };
    // The last character of base64 may have unused bits.
    for at in 0..cursor.len() - 1 {
        let letter = if cursor.as_bytes()[at] == b'A' { "B" } else { "A" };
        let changed = format!("{}{letter}{}", &cursor[..at], &cursor[at + 1..]);
        assert!(refused(&changed), "letter {at}");
    }
    assert!(refused(&cursor[..cursor.len() - 4]) && refused(&format!("{cursor}AAAA")) && refused("1800000000 x"));
    let strategy = prop_oneof![".{1,60}", "[A-Za-z0-9_-]{1,120}"];
    proptest!(ProptestConfig::with_cases(64), |(text in strategy)| {
        prop_assert!(refused(&text), "{text:?}");
    });
}
