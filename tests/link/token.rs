//! `POST /link/token`.

use serde_json::{Value, json};
use tabularium::consent::AuthorizationState;
use tabularium::lake::Mode;

use crate::harness::consented::{App, Finished, Flow, PAYER, TestEndpoint};
use crate::harness::server::{Answer, Server};

fn linked() -> (Server, App, Finished, Value) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let finished = Flow::link(&app).finish(&server);
    let tokens = finished.link_tokens(&server, &app.test);
    (server, app, finished, tokens)
}

fn refresh(server: &Server, app: &App, token: &Value) -> Answer {
    let body = json!({"grant_type": "refresh_token", "refresh_token": token});
    server.post("/link/token", &[("authorization", &app.test.basic())], &body)
}

/// Completes the open jobs, as a worker would.
fn complete_jobs(server: &Server) {
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    store.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let sql = "UPDATE sync_job SET state = 'COMPLETED', finished_at = 1800000005";
    store.execute(sql, []).unwrap();
}

#[test]
fn a_refresh_answers_with_tokens_sync_and_time_until_max_auth() {
    let (server, app, finished, tokens) = linked();
    complete_jobs(&server);
    let answer = refresh(&server, &app, &tokens["refresh_token"]);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    let body = answer.json();
    assert_eq!(
        (&body["token_type"], &body["expires_in"]),
        (&json!("Bearer"), &json!(86_400))
    );
    assert_eq!(body["refresh_expires_in"], 7_776_000);
    assert_ne!(body["refresh_token"], tokens["refresh_token"]);
    assert_eq!(body["sync"]["resourceTypes"].as_object().unwrap().len(), 23);
    assert_eq!(
        (&body["sync"]["state"], &body["sync"]["lastSyncedAt"]),
        (&json!("CREATED"), &json!(1_800_000_005))
    );
    assert_eq!(body["timeUntilMaxAuth"], 31_536_000);
    assert_eq!(body.as_object().unwrap().len(), 7, "{body}");
    assert_eq!(
        server
            .store
            .jobs()
            .of_authorization(&finished.authorizations[0])
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn a_refresh_of_multiple_usage_makes_a_new_sync_job_unless_one_is_open() {
    let (server, app, finished, tokens) = linked();
    let second = refresh(&server, &app, &tokens["refresh_token"]).json();
    let jobs = || {
        server
            .store
            .jobs()
            .of_authorization(&finished.authorizations[0])
            .unwrap()
    };
    let open = jobs().iter().filter(|job| job.state.is_open()).count();
    assert!(open <= 1, "{open} jobs of one authorization at once");
    complete_jobs(&server);
    let before = jobs().len();
    refresh(&server, &app, &second["refresh_token"]);
    assert_eq!(jobs().len(), before + 1);
    assert_eq!(jobs()[0].cause, "refresh");
}

#[test]
fn a_refresh_of_one_time_usage_syncs_nothing() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let finished = Flow::once(&app).finish(&server);
    let tokens = finished.tokens(&server);
    complete_jobs(&server);
    let answer = refresh(&server, &app, &tokens["refresh_token"]);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        server
            .store
            .jobs()
            .of_authorization(&finished.authorizations[0])
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn only_sources_of_multiple_usage_sync_again() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let places = [
        PAYER,
        TestEndpoint {
            name: "fax",
            refreshable: false,
            ..PAYER
        },
    ];
    let finished = Flow {
        places: &places,
        ..Flow::of(&app)
    }
    .finish(&server);
    let tokens = finished.tokens(&server);
    complete_jobs(&server);
    assert_eq!(refresh(&server, &app, &tokens["refresh_token"]).status, 200);
    let jobs = |at: usize| {
        server
            .store
            .jobs()
            .of_authorization(&finished.authorizations[at])
            .unwrap()
            .len()
    };
    assert_eq!((jobs(0), jobs(1)), (2, 1));
}

#[test]
fn a_refresh_token_is_used_once_and_reuse_revokes_the_family() {
    let (server, app, _finished, tokens) = linked();
    let second = refresh(&server, &app, &tokens["refresh_token"]).json();
    assert_eq!(
        refresh(&server, &app, &tokens["refresh_token"]).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    server.store.clock().advance(11);
    assert_eq!(
        refresh(&server, &app, &tokens["refresh_token"]).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    assert_eq!(
        refresh(&server, &app, &second["refresh_token"]).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    let result = server
        .get("/link/introspect", second["access_token"].as_str().unwrap())
        .json();
    assert_eq!(result["active"], false);
}

#[test]
fn invalid_grant_for_an_invalid_or_expired_refresh_token() {
    let (server, app, _finished, tokens) = linked();
    assert_eq!(
        refresh(&server, &app, &json!("x")).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
    server.store.clock().advance(7_776_000);
    assert_eq!(
        refresh(&server, &app, &tokens["refresh_token"]).oauth_error(),
        (400, "invalid_grant".to_owned())
    );
}

#[test]
fn refresh_expires_in_is_no_longer_than_the_source_lets_access_be_refreshed() {
    // It was ninety days whatever the endpoint's refreshValidFor, so an application learned of the expiry only from
    // failed syncs.
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let bounded = [TestEndpoint {
        name: "bounded",
        refresh_valid_for: Some(3_600),
        ..PAYER
    }];
    let flow = |places| Flow {
        places,
        ..Flow::link(&app)
    };
    let finished = flow(&bounded).finish(&server);
    server.store.clock().advance(600);
    let tokens = finished.link_tokens(&server, &app.test);
    assert_eq!(tokens["refresh_expires_in"], 3_000);
    server.store.clock().advance(1_000);
    let second = refresh(&server, &app, &tokens["refresh_token"]).json();
    assert_eq!(second["refresh_expires_in"], 2_000);
    server.store.clock().advance(2_000);
    let late = refresh(&server, &app, &second["refresh_token"]);
    assert_eq!(late.oauth_error(), (400, "invalid_grant".to_owned()));
    server.store.sweep().unwrap();
    let authorization = server
        .store
        .authorizations()
        .get(&finished.authorizations[0])
        .unwrap()
        .unwrap();
    assert_eq!(authorization.state, AuthorizationState::Expired);
    assert!(authorization.data_erased_at.is_some());

    // Of several sources the longest period counts. Zero means unlimited. A one-time source is never refreshed.
    let endless = TestEndpoint {
        name: "endless",
        refresh_valid_for: Some(0),
        ..PAYER
    };
    for places in [&[bounded[0].clone(), endless.clone()][..], &[endless][..]] {
        let tokens = flow(places).finish(&server).link_tokens(&server, &app.test);
        assert_eq!(tokens["refresh_expires_in"], 7_776_000);
    }
    let once = Flow {
        places: &bounded,
        ..Flow::once(&app)
    };
    assert_eq!(once.finish(&server).tokens(&server)["refresh_expires_in"], 7_776_000);
}

#[test]
fn a_links_refresh_token_needs_the_key_pair_of_its_application_and_mode() {
    let (server, app, _finished, tokens) = linked();
    let other = App::register(&server.store, "other");
    let body = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]});
    for (basic, expected) in [
        (other.test.basic(), (400, "invalid_grant".to_owned())),
        (app.live.basic(), (400, "invalid_grant".to_owned())),
        (
            crate::harness::consented::basic(&app.test.publishable, "sk_test_x"),
            (401, "invalid_client".to_owned()),
        ),
        (
            format!("{}:{}", app.test.publishable, app.test.secret),
            (401, "invalid_client".to_owned()),
        ),
        (
            format!("Basic {}:{}", app.test.publishable, app.test.secret),
            (401, "invalid_client".to_owned()),
        ),
    ] {
        let answer = server.post("/link/token", &[("authorization", &basic)], &body);
        assert_eq!(answer.oauth_error(), expected);
    }
    let named = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": app.test.publishable});
    for path in ["/link/token", "/oauth/token"] {
        assert_eq!(
            server.post(path, &[], &named).oauth_error(),
            (401, "invalid_client".to_owned()),
            "no key pair"
        );
    }
    assert_eq!(refresh(&server, &app, &tokens["refresh_token"]).status, 200);
}

#[test]
fn client_credentials_give_an_application_token() {
    let (server, app, _finished, _tokens) = linked();
    for mode in [Mode::Live, Mode::Test] {
        let body = json!({"grant_type": "client_credentials"});
        let answer = server.post_form("/link/token", &[("authorization", &app.keys(mode).basic())], &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let body = answer.json();
        assert_eq!(
            (&body["expires_in"], &body["token_type"]),
            (&json!(1_800), &json!("Bearer"))
        );
        assert_eq!(body.as_object().unwrap().len(), 3);
    }
}

#[test]
fn a_code_is_exchanged_and_refreshed_here_too_as_smart_discovery_says() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let finished = Flow {
        origin: tabularium::consent::Origin::Oauth,
        user: None,
        ..Flow::of(&app)
    }
    .finish(&server);
    let answer = server.post_form("/link/token", &[], &finished.exchange());
    assert_eq!(answer.status, 200, "{}", answer.text);
    let tokens = answer.json();
    assert_eq!(tokens["patient"], *finished.patients[0], "the bare id");
    assert_eq!(tokens["scope"], "launch/patient offline_access");
    assert_eq!(tokens.as_object().unwrap().len(), 7);
    // A public client has no key pair.
    let fields =
        json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"], "client_id": finished.client});
    let answer = server.post_form("/link/token", &[], &fields);
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["patient"], *finished.patients[0]);
    assert_eq!(answer.json()["scope"], tokens["scope"]);
}
