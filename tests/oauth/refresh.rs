//! `POST /oauth/token` with a refresh token.

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationState, Usage};
use tabularium::lake::Mode;

use super::claims;
use crate::harness::consented::{App, Finished, Flow, basic};
use crate::harness::server::{Answer, START, Server};

fn exchanged(usage: Usage) -> (Server, App, Finished, Value) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let finished = Flow {
        usage,
        ..Flow::of(&app)
    }
    .finish(&server);
    let tokens = finished.tokens(&server);
    (server, app, finished, tokens)
}

fn refresh(server: &Server, token: &Value, client: &str) -> Answer {
    let body = json!({"grant_type": "refresh_token", "refresh_token": token, "client_id": client});
    server.post("/oauth/token", &[], &body)
}

fn refused(answer: &Answer) {
    assert_eq!(
        answer.oauth_error(),
        (400, "invalid_grant".to_owned()),
        "{}",
        answer.text
    );
}

fn is_active(server: &Server, tokens: &Value) -> bool {
    let answer = server.get("/oauth/introspect", tokens["access_token"].as_str().unwrap());
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["active"].as_bool().unwrap()
}

#[test]
fn a_refresh_gives_new_tokens_and_spends_the_old_one() {
    let (server, _app, finished, first) = exchanged(Usage::Multiple);
    server.store.clock().advance(3_600);
    let answer = refresh(&server, &first["refresh_token"], &finished.client);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    let second = answer.json();
    assert_eq!(
        (&second["token_type"], &second["expires_in"]),
        (&json!("Bearer"), &json!(86_400))
    );
    assert_eq!(second["refresh_expires_in"], 7_776_000);
    assert_eq!(
        (&second["scope"], &second["patient"]),
        (&first["scope"], &first["patient"])
    );
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert_ne!(second["access_token"], first["access_token"]);
    let claims = claims(second["access_token"].as_str().unwrap());
    assert_eq!(claims["exp"], START + 3_600 + 86_400);
    assert_eq!(claims["sub"], *finished.consent);
    assert!(is_active(&server, &first) && is_active(&server, &second));
    refused(&refresh(&server, &first["refresh_token"], &finished.client));
    assert_eq!(refresh(&server, &second["refresh_token"], &finished.client).status, 200);
}

#[test]
fn a_refresh_never_syncs_and_keeps_the_authorization_exchanged() {
    let (server, _app, finished, tokens) = exchanged(Usage::Multiple);
    assert_eq!(refresh(&server, &tokens["refresh_token"], &finished.client).status, 200);
    let authorization = &finished.authorizations[0];
    assert_eq!(server.store.jobs().of_authorization(authorization).unwrap().len(), 1);
    let authorization = server.store.authorizations().get(authorization).unwrap().unwrap();
    assert_eq!(authorization.state, AuthorizationState::Exchanged);
}

#[test]
fn refresh_tokens_of_one_time_and_multiple_usage_are_taken_alike_within_their_window() {
    for usage in [Usage::OneTime, Usage::Multiple] {
        let (server, _app, finished, tokens) = exchanged(usage);
        server.store.clock().advance(3 * 86_400);
        server.store.sweep().unwrap();
        let answer = refresh(&server, &tokens["refresh_token"], &finished.client);
        assert_eq!(answer.status, 200, "{}", answer.text);
        // Each refresh extends the window.
        server.store.clock().advance(7_776_000 - 1);
        server.store.sweep().unwrap();
        assert_eq!(
            refresh(&server, &answer.json()["refresh_token"], &finished.client).status,
            200
        );
    }
}

#[test]
fn a_refresh_must_come_before_the_window_elapses() {
    for swept in [false, true] {
        let (server, _app, finished, tokens) = exchanged(Usage::Multiple);
        server.store.clock().advance(7_776_000);
        if swept {
            server.store.sweep().unwrap();
            let authorization = server
                .store
                .authorizations()
                .get(&finished.authorizations[0])
                .unwrap()
                .unwrap();
            assert_eq!(authorization.state, AuthorizationState::Expired);
        }
        refused(&refresh(&server, &tokens["refresh_token"], &finished.client));
    }
}

#[test]
fn refresh_reuse_after_a_moment_revokes_the_family() {
    let (server, _app, finished, first) = exchanged(Usage::Multiple);
    let second = refresh(&server, &first["refresh_token"], &finished.client).json();
    // Within ten seconds it may be the client's own retry.
    server.store.clock().advance(10);
    refused(&refresh(&server, &first["refresh_token"], &finished.client));
    let third = refresh(&server, &second["refresh_token"], &finished.client).json();
    assert!(third["refresh_token"].is_string());
    server.store.clock().advance(1);
    refused(&refresh(&server, &first["refresh_token"], &finished.client));
    for tokens in [&first, &second, &third] {
        assert!(!is_active(&server, tokens));
    }
    refused(&refresh(&server, &third["refresh_token"], &finished.client));
    // Only the tokens end; the consent stays.
    let authorization = server
        .store
        .authorizations()
        .get(&finished.authorizations[0])
        .unwrap()
        .unwrap();
    assert_eq!(authorization.state, AuthorizationState::Exchanged);
}

#[test]
fn reuse_by_another_client_ends_nothing() {
    let (server, app, finished, first) = exchanged(Usage::Multiple);
    let stranger = App::register(&server.store, "stranger");
    let second = refresh(&server, &first["refresh_token"], &finished.client).json();
    server.store.clock().advance(60);
    for client in [&stranger.test.publishable, &app.live.publishable] {
        refused(&refresh(&server, &first["refresh_token"], client));
        refused(&refresh(&server, &second["refresh_token"], client));
    }
    assert!(is_active(&server, &second));
    assert_eq!(refresh(&server, &second["refresh_token"], &finished.client).status, 200);
}

#[test]
fn of_concurrent_refreshes_one_wins_and_nothing_is_revoked() {
    let (server, _app, finished, first) = exchanged(Usage::Multiple);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let one = || refresh(&server, &first["refresh_token"], &finished.client);
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        refresh(&server, &won[0].json()["refresh_token"], &finished.client).status,
        200
    );
}

#[test]
fn a_revoked_consent_is_not_refreshed() {
    let (server, _app, finished, tokens) = exchanged(Usage::Multiple);
    server
        .store
        .consents()
        .revoke(&finished.consent, Actor::Patient)
        .unwrap();
    refused(&refresh(&server, &tokens["refresh_token"], &finished.client));
}

#[test]
fn basic_is_accepted_and_both_are_not() {
    let (server, app, finished, tokens) = exchanged(Usage::Multiple);
    let mut body =
        json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": finished.client});
    let basic = app.test.basic();
    let answer = server.post("/oauth/token", &[("authorization", &basic)], &body);
    assert_eq!(answer.oauth_error(), (400, "invalid_request".to_owned()));
    body.as_object_mut().unwrap().remove("client_id");
    assert_eq!(
        server
            .post_form("/oauth/token", &[("authorization", &basic)], &body)
            .status,
        200
    );
}

#[test]
fn refresh_tokens_outlive_the_keys_they_were_given_to() {
    let (server, app, _finished, tokens) = exchanged(Usage::Multiple);
    let fresh = server
        .store
        .clients()
        .rotate(&app.id, Mode::Test, 0, Actor::Operator)
        .unwrap();
    let old = refresh(&server, &tokens["refresh_token"], &app.test.publishable);
    assert_eq!(old.oauth_error(), (401, "invalid_client".to_owned()));
    let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    let basic = basic(&fresh.publishable, fresh.secret.as_deref().unwrap());
    let answer = server.post("/oauth/token", &[("authorization", &basic)], &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        claims(answer.json()["access_token"].as_str().unwrap())["client_id"],
        *fresh.publishable
    );
}

#[test]
fn an_unknown_refresh_token_is_refused() {
    let (server, _app, finished, tokens) = exchanged(Usage::Multiple);
    for other in [
        "x",
        "rt_",
        tokens["access_token"].as_str().unwrap(),
        "' OR '1'='1",
        "<script>",
        "\u{0}",
    ] {
        refused(&refresh(&server, &json!(other), &finished.client));
    }
    let body = json!({"grant_type": "refresh_token", "client_id": finished.client});
    assert_eq!(
        server.post("/oauth/token", &[], &body).oauth_error(),
        (400, "invalid_request".to_owned())
    );
}

/// npm fhirclient sends no client_id with a refresh by default.
#[test]
fn a_public_client_refreshes_without_naming_itself() {
    for path in ["/oauth/token", "/link/token"] {
        let (server, _app, finished, first) = exchanged(Usage::Multiple);
        let unnamed = |token: &Value| {
            let body = json!({"grant_type": "refresh_token", "refresh_token": token});
            server.post_form(path, &[], &body)
        };
        let answer = unnamed(&first["refresh_token"]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let second = answer.json();
        let claims = claims(second["access_token"].as_str().unwrap());
        assert_eq!(
            (&claims["client_id"], &claims["sub"]),
            (&json!(finished.client), &json!(finished.consent))
        );
        let third = unnamed(&second["refresh_token"]).json();
        let fourth = refresh(&server, &third["refresh_token"], &finished.client).json();
        let fifth = unnamed(&fourth["refresh_token"]).json();
        assert!(is_active(&server, &fifth));
        // A repeated token is refused, and after a moment it ends the family.
        refused(&unnamed(&first["refresh_token"]));
        refused(&unnamed(&json!("rt_unknown")));
        server.store.clock().advance(11);
        refused(&unnamed(&first["refresh_token"]));
        refused(&unnamed(&fifth["refresh_token"]));
        assert!(!is_active(&server, &fifth));
    }
}

#[test]
fn whose_tokens_came_by_the_secret_key_names_itself_to_refresh() {
    let (server, app, _finished, public) = exchanged(Usage::Multiple);
    let finished = Flow::of(&app).finish(&server);
    let mut body = finished.exchange();
    body.as_object_mut().unwrap().remove("client_id");
    let basic = app.test.basic();
    let by_secret = server.post("/oauth/token", &[("authorization", &basic)], &body);
    assert_eq!(by_secret.status, 200, "{}", by_secret.text);
    let unnamed = |tokens: &Value| {
        let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
        server.post("/oauth/token", &[], &body)
    };
    let unnamed_is_refused = |tokens: &Value| {
        let answer = unnamed(tokens);
        assert_eq!(
            answer.oauth_error(),
            (401, "invalid_client".to_owned()),
            "{}",
            answer.text
        );
    };
    let by_secret = by_secret.json();
    unnamed_is_refused(&by_secret);
    // A client id alone is enough, as before, but does not make the token a public client's.
    let next = refresh(&server, &by_secret["refresh_token"], &finished.client).json();
    unnamed_is_refused(&next);
    // A client that has sent a secret key is not public any more.
    let body = json!({"grant_type": "refresh_token", "refresh_token": public["refresh_token"]});
    let shown = server.post("/oauth/token", &[("authorization", &basic)], &body).json();
    unnamed_is_refused(&shown);
    // A link's tokens always need the key pair.
    let linked = Flow::link(&app).finish(&server).link_tokens(&server, &app.test);
    unnamed_is_refused(&linked);
}

#[test]
fn a_public_client_whose_key_was_retired_refreshes_no_more() {
    let (server, app, _finished, tokens) = exchanged(Usage::Multiple);
    server
        .store
        .clients()
        .rotate(&app.id, Mode::Test, 0, Actor::Operator)
        .unwrap();
    let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    assert_eq!(
        server.post("/oauth/token", &[], &body).oauth_error(),
        (401, "invalid_client".to_owned())
    );
}

/// An older store does not know how its refresh tokens were issued. Their clients must name themselves, as before.
#[test]
fn refresh_tokens_of_an_older_store_are_good_for_clients_that_name_themselves() {
    let (server, _app, finished, tokens) = exchanged(Usage::Multiple);
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    store.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    store
        .execute("UPDATE refresh_token SET public_client = NULL", [])
        .unwrap();
    let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    assert_eq!(
        server.post("/oauth/token", &[], &body).oauth_error(),
        (401, "invalid_client".to_owned())
    );
    assert_eq!(refresh(&server, &tokens["refresh_token"], &finished.client).status, 200);
}
