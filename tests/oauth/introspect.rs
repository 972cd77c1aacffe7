//! `GET /oauth/introspect`.

use serde_json::{Value, json};
use tabularium::consent::{Actor, AuthorizationType};
use tabularium::lake::Mode;

use super::bearer;
use crate::harness::consented::{App, Flow, PAYER, TestEndpoint};
use crate::harness::records::{self, Record};
use crate::harness::server::{START, Server};

fn server() -> (Server, App) {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    (server, app)
}

fn introspect(server: &Server, tokens: &Value) -> Value {
    let answer = server.get("/oauth/introspect", tokens["access_token"].as_str().unwrap());
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("cache-control"), "no-store");
    answer.json()
}

#[test]
fn the_result_has_the_fields_of_the_specification() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    server.store.clock().advance(100);
    let base = format!("http://{}/", server.address);
    let result = introspect(&server, &tokens);
    let claims = super::claims(tokens["access_token"].as_str().unwrap());
    for claim in ["jti", "iat", "exp", "client_id", "patient"] {
        assert_eq!(result[claim], claims[claim]);
    }
    assert_eq!((&result["iss"], &result["aud"]), (&json!(base), &json!(base)));
    assert_eq!(result["sub"], *finished.consent);
    assert_eq!(result["active"], true);
    assert_eq!(result["user"], json!({"externalId": "user-1"}));
    assert_eq!(
        (&result["state"], &result["usage"]),
        (&json!("EXCHANGED"), &json!("MULTIPLE"))
    );
    let endpoint = json!({"id": "endpoint-payer", "name": "payer", "label": ["The payer"], "refreshable": true});
    assert_eq!(result["endpoint"], endpoint);
    assert_eq!(result["timeUntilMaxAuth"], 31_536_000 - 100);
    let sync = &result["sync"];
    assert_eq!(sync["lastSyncedAt"], Value::Null);
    assert!(
        ["CREATED", "WAITING", "ACTIVE", "FAILED"].contains(&sync["state"].as_str().unwrap()),
        "{sync}"
    );
    assert_eq!(result.as_object().unwrap().len(), 15, "{result}");
}

#[test]
fn all_listed_types_appear_with_zero_and_others_where_present() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    let counts = introspect(&server, &tokens)["sync"]["resourceTypes"].clone();
    assert_eq!(counts.as_object().unwrap().len(), 23);
    assert!(counts.as_object().unwrap().values().all(|count| *count == 0));

    let own = |resource_type: &str, id: &str| Record {
        mode: Mode::Test,
        application: "app".to_owned(),
        owner: finished.owner,
        patient: Some(finished.patients[0].clone()),
        authorization: Some(finished.authorizations[0].clone()),
        ..Record::new(json!({"resourceType": resource_type, "id": id}))
    };
    let others = Record {
        owner: finished.owner + 1,
        authorization: Some("another".to_owned()),
        ..own("Observation", "others")
    };
    let live = Record {
        mode: Mode::Live,
        ..own("Observation", "live")
    };
    let elsewhere = Record {
        application: "elsewhere".to_owned(),
        ..own("Observation", "elsewhere")
    };
    let rows = [
        own("Patient", "p"),
        own("Observation", "o1"),
        own("Observation", "o2"),
        own("Appointment", "a"),
        others,
        live,
        elsewhere,
    ];
    records::commit(&server.lake, &rows);
    let counts = introspect(&server, &tokens)["sync"]["resourceTypes"].clone();
    assert_eq!(counts.as_object().unwrap().len(), 24);
    assert_eq!(
        (&counts["Observation"], &counts["Patient"], &counts["Appointment"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!(counts["Claim"], Value::Null);
    assert_eq!(counts["Condition"], 0);
}

#[test]
fn time_until_max_auth_has_four_forms() {
    let (server, app) = server();
    let place = |name, period, refreshable, authorization_type| TestEndpoint {
        name,
        max_auth_period: period,
        refreshable,
        authorization_type,
        ..PAYER
    };
    let oauth = AuthorizationType::Oauth;
    for (place, expected) in [
        (place("a", Some(600), true, oauth), json!(-400)),
        (place("b", Some(600), true, AuthorizationType::Ial1), json!(-400)),
        (place("c", None, true, oauth), json!("unknown")),
        (place("d", Some(0), true, oauth), json!("indefinite")),
        (place("e", Some(600), false, oauth), json!("unsupported")),
        (
            place("f", Some(600), true, AuthorizationType::Ial2),
            json!("unsupported"),
        ),
        (
            place("g", Some(600), true, AuthorizationType::Credentials),
            json!("unsupported"),
        ),
    ] {
        let places = [place];
        let tokens = Flow {
            places: &places,
            ..Flow::of(&app)
        }
        .finish(&server)
        .tokens(&server);
        server.store.clock().advance(1_000);
        assert_eq!(
            introspect(&server, &tokens)["timeUntilMaxAuth"],
            expected,
            "{}",
            places[0].name
        );
    }
}

#[test]
fn usage_is_what_was_resolved() {
    let (server, app) = server();
    let places = [TestEndpoint {
        name: "fax",
        refreshable: false,
        ..PAYER
    }];
    for (flow, usage, refreshable) in [
        (Flow::of(&app), "MULTIPLE", true),
        (Flow::once(&app), "ONE_TIME", true),
        (
            Flow {
                places: &places,
                ..Flow::of(&app)
            },
            "ONE_TIME",
            false,
        ),
    ] {
        let result = introspect(&server, &flow.finish(&server).tokens(&server));
        assert_eq!(
            (&result["usage"], &result["endpoint"]["refreshable"]),
            (&json!(usage), &json!(refreshable))
        );
    }
}

#[test]
fn with_several_sources_the_endpoint_is_the_primarys() {
    let (server, app) = server();
    let places = [
        PAYER,
        TestEndpoint {
            name: "clinic",
            max_auth_period: None,
            ..PAYER
        },
    ];
    let finished = Flow {
        places: &places,
        ..Flow::of(&app)
    }
    .finish(&server);
    let result = introspect(&server, &finished.tokens(&server));
    assert_eq!(result["endpoint"]["name"], "payer");
    assert_eq!(result["patient"], format!("Patient/{}", finished.patients[0]));
    assert_eq!(result["timeUntilMaxAuth"], 31_536_000);
}

#[test]
fn expired_and_revoked_tokens_are_inactive() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    server.store.clock().advance(86_400);
    let result = introspect(&server, &tokens);
    assert_eq!(
        (&result["active"], &result["state"]),
        (&json!(false), &json!("EXCHANGED"))
    );
    assert_eq!(result["exp"], START + 86_400);
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    server
        .store
        .consents()
        .revoke(&finished.consent, Actor::Patient)
        .unwrap();
    let result = introspect(&server, &tokens);
    assert_eq!(
        (&result["active"], &result["state"]),
        (&json!(false), &json!("REVOKED"))
    );
}

#[test]
fn anything_else_than_a_signed_patient_token_is_401() {
    let (server, app) = server();
    let tokens = Flow::of(&app).finish(&server).tokens(&server);
    let token = tokens["access_token"].as_str().unwrap();
    let none = server.send("GET", "/oauth/introspect", &[], "");
    assert_eq!(none.status, 401);
    assert!(
        none.header("www-authenticate").starts_with("Bearer"),
        "{}",
        none.header("www-authenticate")
    );
    assert!(!none.header("www-authenticate").contains("error"), "nothing was sent");
    assert!(none.json()["message"].is_string());
    let elsewhere =
        tabularium::consent::Tokens::new(server.store.clone(), server.lake.clone(), "https://elsewhere.example");
    let elsewhere = elsewhere.for_application(&app.id, Mode::Test).unwrap().token;
    let application = server.tokens.for_application(&app.id, Mode::Test).unwrap().token;
    let forged = format!("{}x", &token[..token.len() - 1]);
    for other in [
        "x",
        "a.b.c",
        &forged,
        &elsewhere,
        &application,
        tokens["refresh_token"].as_str().unwrap(),
    ] {
        let answer = server.get("/oauth/introspect", other);
        assert_eq!(answer.status, 401, "{}", answer.text);
        assert!(
            answer.header("www-authenticate").contains("invalid_token"),
            "{}",
            answer.header("www-authenticate")
        );
        assert_eq!(answer.json().as_object().unwrap().len(), 1);
        assert!(answer.json()["message"].is_string());
    }
    let message = server.get("/oauth/introspect", &application).json();
    assert_eq!(
        message["message"],
        "A Consent access token is required for this endpoint."
    );
}

#[test]
fn a_token_for_imported_records_is_told_about_too() {
    let server = Server::start(&[json!({"resourceType": "Patient", "id": "anna"})]);
    let answer = server.get("/oauth/introspect", &server.patient_token("anna"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    let result = answer.json();
    assert_eq!(
        (&result["active"], &result["patient"]),
        (&json!(true), &json!("Patient/anna"))
    );
    assert_eq!((&result["user"], &result["endpoint"]), (&Value::Null, &Value::Null));
    assert_eq!(result["sync"]["resourceTypes"]["Patient"], 1);
    assert!(result["sync"].get("state").is_none(), "no job ran");
}

#[test]
fn a_completed_sync_says_when() {
    let (server, app) = server();
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    let bearer = bearer(&tokens);
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let sql = "UPDATE sync_job SET state = 'COMPLETED', finished_at = ?1 WHERE authorization = ?2";
    store
        .execute(sql, rusqlite::params![START + 5, finished.authorizations[0]])
        .unwrap();
    let sync = server
        .send("GET", "/oauth/introspect", &[("authorization", &bearer)], "")
        .json()["sync"]
        .clone();
    assert_eq!(
        (&sync["state"], &sync["lastSyncedAt"]),
        (&json!("COMPLETED"), &json!(START + 5))
    );
}
