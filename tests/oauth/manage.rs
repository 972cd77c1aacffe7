//! `GET`, `PUT` and `DELETE /oauth/register/{client_id}` (RFC 7592).

use serde_json::{Value, json};
use tabularium::consent::{Actor, SyncFrequency};
use tabularium::lake::Mode;

use crate::harness::consented::{App, Flow, Keys, PAYER, REDIRECT_URI, TestEndpoint, basic};
use crate::harness::server::{Answer, START, Server};

/// A registration as a client knows it: the newest answer about it.
struct Known {
    uri: String,
    token: String,
    answer: Value,
}

impl Known {
    fn of(server: &Server, answer: &Answer) -> Known {
        let answer = answer.json();
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        let begin = format!("http://{}", server.address);
        let uri = text("registration_client_uri");
        Known {
            uri: uri.strip_prefix(&begin).unwrap().to_owned(),
            token: text("registration_access_token"),
            answer,
        }
    }

    /// Registers a client with this metadata.
    fn registered(server: &Server, metadata: &Value) -> Known {
        let answer = server.post("/oauth/register", &[], metadata);
        assert_eq!(answer.status, 201, "{}", answer.text);
        Known::of(server, &answer)
    }

    /// The metadata that a client sends back, with changes. What only answers have is left out.
    fn changed(&self, changes: &Value) -> Value {
        let mut metadata = self.answer.clone();
        let object = metadata.as_object_mut().unwrap();
        for name in [
            "registration_access_token",
            "registration_client_uri",
            "client_secret_expires_at",
            "client_id_issued_at",
            "client_secret",
        ] {
            object.remove(name);
        }
        object.extend(changes.as_object().unwrap().clone());
        metadata
    }

    fn send(&self, server: &Server, method: &str, body: &Value) -> Answer {
        sent(server, method, &self.uri, &self.token, body)
    }

    fn put(&self, server: &Server, changes: &Value) -> Answer {
        self.send(server, "PUT", &self.changed(changes))
    }

    fn client_id(&self) -> &str {
        self.answer["client_id"].as_str().unwrap()
    }

    fn application(&self, server: &Server) -> String {
        let client = server.store.clients().get(self.client_id()).unwrap().unwrap();
        client.application.to_string()
    }
}

fn sent(server: &Server, method: &str, path: &str, token: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let text = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    server.send(method, path, &headers, &text)
}

fn metadata() -> Value {
    json!({"redirect_uris": [REDIRECT_URI], "client_name": "A client", "contacts": ["me@client.example"],
        "client_uri": "https://client.example", "software_id": "s"})
}

/// Whether a key pair gets an application token.
fn works(server: &Server, id: &str, secret: &str) -> bool {
    let body = json!({"grant_type": "client_credentials"});
    let answer = server.post("/oauth/token", &[("authorization", &basic(id, secret))], &body);
    answer.status == 200
}

fn bad_token(answer: &Answer) {
    assert_eq!(
        answer.oauth_error(),
        (401, "invalid_token".to_owned()),
        "{}",
        answer.text
    );
    assert_eq!(answer.header("www-authenticate"), r#"Bearer error="invalid_token""#);
}

#[test]
fn a_client_reads_its_registration() {
    let server = Server::start(&[]);
    let known = Known::registered(&server, &metadata());
    assert_eq!(known.uri, format!("/oauth/register/{}", known.client_id()));
    server.store.clock().advance(60);
    let read = known.send(&server, "GET", &Value::Null);
    assert_eq!(
        (read.status, read.header("cache-control")),
        (200, "no-store"),
        "{}",
        read.text
    );
    let mut expected = known.answer.clone();
    // The store has only the digest of the secret key.
    assert!(expected.as_object_mut().unwrap().remove("client_secret").is_some());
    assert_eq!(read.json(), expected);
    assert_eq!(read.json()["client_id_issued_at"], START);
    assert_eq!(read.json()["sync_frequency"], "off");
    let head = known.send(&server, "HEAD", &Value::Null);
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    // Only digests of tokens and secrets are in the store.
    let file = std::fs::read(server.folder().join("service.sqlite")).unwrap();
    let log = std::fs::read(server.folder().join("service.sqlite-wal")).unwrap_or_default();
    for secret in [known.token.as_str(), known.answer["client_secret"].as_str().unwrap()] {
        assert!(memchr::memmem::find(&[file.clone(), log.clone()].concat(), secret.as_bytes()).is_none());
    }
}

#[test]
fn a_change_replaces_all_metadata() {
    let server = Server::start(&[]);
    let known = Known::registered(&server, &metadata());
    let uris = json!(["com.example.app:/two", "https://client.example/one"]);
    let body = json!({"client_id": known.client_id(), "client_name": "Another name", "redirect_uris": uris,
        "token_endpoint_auth_method": "client_secret_post", "sync_frequency": "weekly"});
    let answer = known.send(&server, "PUT", &body);
    assert_eq!(
        (answer.status, answer.header("cache-control")),
        (200, "no-store"),
        "{}",
        answer.text
    );
    let now = answer.json();
    assert_eq!(
        (
            &now["client_name"],
            &now["redirect_uris"],
            &now["sync_frequency"],
            &now["token_endpoint_auth_method"]
        ),
        (
            &json!("Another name"),
            &uris,
            &json!("weekly"),
            &json!("client_secret_post")
        )
    );
    assert_eq!(now["client_id"], known.client_id(), "no keys were asked for");
    for left_out in ["contacts", "client_uri", "software_id", "client_secret"] {
        assert!(now.get(left_out).is_none(), "{left_out}");
    }
    let application = server
        .store
        .applications()
        .get(&known.application(&server))
        .unwrap()
        .unwrap();
    assert_eq!(application.name, "Another name");
    assert_eq!(
        application.redirect_uris,
        ["com.example.app:/two", "https://client.example/one"]
    );
    assert_eq!(application.sync_frequency, SyncFrequency::Weekly);
    assert!(works(
        &server,
        known.client_id(),
        known.answer["client_secret"].as_str().unwrap()
    ));
    // What a member is by default, it is again once it is left out.
    let known = Known::of(&server, &answer);
    let body = json!({"client_id": known.client_id(), "grant_types": ["client_credentials"]});
    let bare = known.send(&server, "PUT", &body).json();
    assert_eq!(
        (&bare["client_name"], &bare["redirect_uris"], &bare["sync_frequency"]),
        (&json!("Unnamed application"), &json!([]), &json!("off"))
    );
    let lines: Vec<String> = server
        .store
        .audit()
        .newest(None, 50)
        .unwrap()
        .into_iter()
        .map(|line| line.action)
        .collect();
    for action in [
        "application.registration-updated",
        "application.redirect-uri-added",
        "application.redirect-uri-removed",
        "application.sync-frequency-set",
        "registration-access-token.created",
    ] {
        assert!(lines.contains(&action.to_owned()), "{action}: {lines:?}");
    }
}

#[test]
fn a_refused_change_changes_nothing() {
    let server = Server::start(&[]);
    let known = Known::registered(&server, &metadata());
    for (changes, error) in [
        (json!({"client_id": "pk_test_other"}), "invalid_request"),
        (json!({"client_id": null}), "invalid_request"),
        (json!({"client_id": 7}), "invalid_request"),
        (json!({"client_secret": "sk_test_chosen"}), "invalid_request"),
        (json!({"client_secret": 7}), "invalid_request"),
        (json!({"registration_access_token": known.token}), "invalid_request"),
        (
            json!({"registration_client_uri": "https://x.example"}),
            "invalid_request",
        ),
        (json!({"client_secret_expires_at": 0}), "invalid_request"),
        (json!({"client_id_issued_at": START}), "invalid_request"),
        (
            json!({"redirect_uris": ["http://client.example/cb"]}),
            "invalid_redirect_uri",
        ),
        (
            json!({"redirect_uris": ["https://good.example/cb", "ftp://bad.example"]}),
            "invalid_redirect_uri",
        ),
        (json!({"client_name": "x".repeat(300)}), "invalid_client_metadata"),
        (json!({"sync_frequency": "hourly"}), "invalid_client_metadata"),
        (json!({"rotate_keys": "yes"}), "invalid_client_metadata"),
        (
            json!({"rotate_keys": true, "rotate_keys_grace_hours": 9000}),
            "invalid_client_metadata",
        ),
        (
            json!({"token_endpoint_auth_method": "none", "grant_types": ["authorization_code"]}),
            "invalid_client_metadata",
        ),
    ] {
        let answer = known.put(&server, &changes);
        assert_eq!(
            answer.oauth_error(),
            (400, error.to_owned()),
            "{changes}: {}",
            answer.text
        );
    }
    for body in [json!([]), json!("x")] {
        let answer = known.send(&server, "PUT", &body);
        assert_eq!(answer.oauth_error(), (400, "invalid_client_metadata".to_owned()));
    }
    let bearer = format!("Bearer {}", known.token);
    let text = [("authorization", bearer.as_str()), ("content-type", "text/plain")];
    assert_eq!(server.send("PUT", &known.uri, &text, "{}").status, 415);
    let mut read = known.send(&server, "GET", &Value::Null).json();
    read["client_secret"] = known.answer["client_secret"].clone();
    assert_eq!(read, known.answer);
    // The secret key may be sent, if it is the present one.
    let same = known.put(&server, &json!({"client_secret": known.answer["client_secret"]}));
    assert_eq!(same.status, 200, "{}", same.text);
}

#[test]
fn keys_are_replaced_with_a_grace_period() {
    let server = Server::start(&[]);
    let first = Known::registered(&server, &metadata());
    let old = (
        first.client_id().to_owned(),
        first.answer["client_secret"].as_str().unwrap().to_owned(),
    );
    server.store.clock().advance(10);
    let answer = first.put(&server, &json!({"rotate_keys": true, "rotate_keys_grace_hours": 2}));
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.json().get("rotate_keys").is_none());
    let second = Known::of(&server, &answer);
    assert_ne!(second.client_id(), old.0);
    assert_eq!(second.uri, format!("/oauth/register/{}", second.client_id()));
    assert_eq!(second.answer["client_id_issued_at"], START + 10);
    let secret = second.answer["client_secret"].as_str().unwrap();
    assert!(works(&server, &old.0, &old.1) && works(&server, second.client_id(), secret));
    server.store.clock().advance(7_200);
    assert!(!works(&server, &old.0, &old.1) && works(&server, second.client_id(), secret));
    // The former address leads to the registration still, but a change has to name the present client.
    let former = sent(&server, "GET", &first.uri, &second.token, &Value::Null);
    assert_eq!(former.json()["client_id"], second.client_id());
    let stale = sent(&server, "PUT", &first.uri, &second.token, &first.changed(&json!({})));
    assert_eq!(stale.oauth_error(), (400, "invalid_request".to_owned()));
    // Without a grace period the present keys end at once.
    let answer = second.put(&server, &json!({"rotate_keys": true}));
    let third = Known::of(&server, &answer);
    assert!(!works(&server, second.client_id(), secret));
    assert!(works(
        &server,
        third.client_id(),
        third.answer["client_secret"].as_str().unwrap()
    ));
    // A public client gets another client_id, and no secret.
    let mut public = metadata();
    public["token_endpoint_auth_method"] = json!("none");
    let public = Known::registered(&server, &public);
    let answer = public.put(&server, &json!({"rotate_keys": true}));
    assert_ne!(answer.json()["client_id"], public.client_id());
    assert!(answer.json().get("client_secret").is_none(), "{}", answer.text);
    let refused = Known::of(&server, &answer).put(&server, &json!({"client_secret": "sk_test_x"}));
    assert_eq!(refused.status, 400, "{}", refused.text);
}

#[test]
fn a_former_token_works_until_the_new_one_is_used() {
    let server = Server::start(&[]);
    let first = Known::registered(&server, &metadata());
    // The client does not receive this answer.
    let lost = Known::of(&server, &first.put(&server, &json!({"client_name": "Lost"})));
    assert_ne!(lost.token, first.token);
    assert_eq!(first.send(&server, "GET", &Value::Null).json()["client_name"], "Lost");
    let second = Known::of(&server, &first.put(&server, &json!({"client_name": "Second"})));
    // A repeated change ends the token that nobody has used.
    bad_token(&lost.send(&server, "GET", &Value::Null));
    assert_eq!(first.send(&server, "GET", &Value::Null).status, 200);
    assert_eq!(second.send(&server, "GET", &Value::Null).status, 200);
    bad_token(&first.send(&server, "GET", &Value::Null));
    bad_token(&first.put(&server, &json!({})));
    bad_token(&first.send(&server, "DELETE", &Value::Null));
    assert_eq!(
        second.send(&server, "GET", &Value::Null).json()["client_name"],
        "Second"
    );
}

#[test]
fn a_bad_token_is_401_for_each_method() {
    let server = Server::start(&[]);
    let (own, other) = (
        Known::registered(&server, &metadata()),
        Known::registered(&server, &metadata()),
    );
    let initial = server.store.registration_tokens().create(Actor::Operator).unwrap();
    let application = server
        .tokens
        .for_application(&own.application(&server), Mode::Test)
        .unwrap()
        .token;
    let secret = own.answer["client_secret"].as_str().unwrap();
    for method in ["GET", "PUT", "DELETE"] {
        let body = if method == "PUT" {
            own.changed(&json!({}))
        } else {
            Value::Null
        };
        for token in [&*other.token, &initial, &application, secret, "rat_none", ""] {
            bad_token(&sent(&server, method, &own.uri, token, &body));
        }
        // A valid token at the address of another client, or of none.
        for uri in [&*other.uri, "/oauth/register/pk_test_none", "/oauth/register/%27"] {
            bad_token(&sent(&server, method, uri, &own.token, &body));
        }
        let basic = basic(own.client_id(), secret);
        bad_token(&server.send(method, &own.uri, &[("authorization", &basic)], ""));
        bad_token(&server.send(method, &own.uri, &[], ""));
    }
    assert_eq!(own.send(&server, "GET", &Value::Null).status, 200);
    assert_eq!(other.send(&server, "GET", &Value::Null).status, 200);
    let answer = own.send(&server, "POST", &Value::Null);
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), "GET,HEAD,PUT,DELETE");
}

#[test]
fn an_end_ends_keys_tokens_and_consents() {
    let server = Server::start(&[]);
    let known = Known::registered(&server, &metadata());
    let application = known.application(&server);
    let secret = known.answer["client_secret"].as_str().unwrap().to_owned();
    let keys = || Keys {
        publishable: known.client_id().to_owned(),
        secret: secret.clone(),
    };
    let app = App {
        id: application.clone(),
        test: keys(),
        live: keys(),
    };
    let exchanged = Flow::of(&app).finish(&server);
    let tokens = exchanged.tokens(&server);
    let waiting = Flow::of(&app).finish(&server);
    let own = server.tokens.for_application(&application, Mode::Test).unwrap().token;
    assert_eq!(server.get("/rest/consents", &own).status, 200);
    let access = tokens["access_token"].as_str().unwrap();
    assert_eq!(server.get("/rest/consent", access).status, 200);
    // Another application's consents are not concerned.
    let other = App::register(&server.store, "other");
    let others = Flow::of(&other).finish(&server).tokens(&server);

    let ended = known.send(&server, "DELETE", &Value::Null);
    assert_eq!((ended.status, ended.text.as_str()), (204, ""));
    assert_eq!(ended.header("cache-control"), "no-store");
    assert!(!works(&server, known.client_id(), &secret));
    assert_eq!(
        server.get("/rest/consents", &own).status,
        401,
        "application tokens end, too"
    );
    assert_eq!(server.get("/rest/consent", access).status, 401);
    for consent in [&exchanged.consent, &waiting.consent] {
        assert_eq!(
            server.store.consents().get(consent).unwrap().unwrap().state.name(),
            "REVOKED"
        );
    }
    assert!(server.store.consents().is_erasing(&exchanged.consent).unwrap());
    let code = server.post("/oauth/token", &[], &waiting.exchange());
    assert_eq!(code.status, 401, "{}", code.text);
    let refresh = json!({"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"],
        "client_id": known.client_id()});
    let refused = server.post("/oauth/token", &[], &refresh);
    assert_eq!(refused.oauth_error(), (401, "invalid_client".to_owned()));
    for method in ["GET", "DELETE"] {
        bad_token(&known.send(&server, method, &Value::Null));
    }
    assert_eq!(
        server
            .get("/rest/consent", others["access_token"].as_str().unwrap())
            .status,
        200
    );
    let lines = server.store.audit().newest(None, 100).unwrap();
    let line = lines
        .iter()
        .find(|line| line.action == "application.registration-ended")
        .unwrap();
    assert_eq!(
        (line.actor, line.application.as_deref()),
        (Actor::Application, Some(&*application))
    );
}

#[test]
fn a_token_of_the_command_line_manages_one_mode() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let registrations = server.store.managed_registrations();
    let token = registrations.create_token("app", Mode::Live, Actor::Operator).unwrap();
    let uri = format!("/oauth/register/{}", app.live.publishable);
    let read = sent(&server, "GET", &uri, &token, &Value::Null);
    assert_eq!(read.status, 200, "{}", read.text);
    let known = Known::of(&server, &read);
    assert_eq!(
        (
            &known.answer["client_name"],
            &known.answer["redirect_uris"],
            &known.answer["token_endpoint_auth_method"]
        ),
        (&json!("app"), &json!([REDIRECT_URI]), &json!("client_secret_basic"))
    );
    // The keys of the other mode are not of this registration.
    bad_token(&sent(
        &server,
        "GET",
        &format!("/oauth/register/{}", app.test.publishable),
        &token,
        &Value::Null,
    ));
    let live = TestEndpoint {
        name: "live",
        mode: Mode::Live,
        ..PAYER
    };
    let of_live = Flow {
        mode: Mode::Live,
        places: &[live],
        ..Flow::of(&app)
    };
    let (live, test) = (of_live.finish(&server), Flow::of(&app).finish(&server));
    // A newer token ends the earlier one.
    let newer = registrations.create_token("app", Mode::Live, Actor::Operator).unwrap();
    bad_token(&sent(&server, "GET", &uri, &token, &Value::Null));
    let ended = sent(&server, "DELETE", &uri, &newer, &Value::Null);
    assert_eq!(ended.status, 204, "{}", ended.text);
    assert!(!works(&server, &app.live.publishable, &app.live.secret));
    assert!(works(&server, &app.test.publishable, &app.test.secret));
    let state = |consent: &str| server.store.consents().get(consent).unwrap().unwrap().state.name();
    assert_eq!((state(&live.consent), state(&test.consent)), ("REVOKED", "AUTHORIZED"));
    for (id, mode) in [("local", Mode::Live), ("none", Mode::Live), ("app", Mode::Live)] {
        assert!(registrations.create_token(id, mode, Actor::Operator).is_err(), "{id}");
    }
}

#[test]
fn a_token_for_test_mode_changes_nothing_that_live_mode_has_too() {
    // A developer with a token for test mode could send the codes of real patients to an address of their own.
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let registrations = server.store.managed_registrations();
    let open = |mode: Mode, key: &str| {
        let token = registrations.create_token("app", mode, Actor::Operator).unwrap();
        let uri = format!("/oauth/register/{key}");
        Known::of(&server, &sent(&server, "GET", &uri, &token, &Value::Null))
    };
    let uris = json!([REDIRECT_URI, "https://elsewhere.example/back"]);
    let of_test = open(Mode::Test, &app.test.publishable);
    for change in [
        json!({"redirect_uris": uris}),
        json!({"client_name": "another"}),
        json!({"sync_frequency": "daily"}),
    ] {
        let answer = of_test.put(&server, &change);
        assert_eq!(answer.oauth_error().0, 400, "{change}: {}", answer.text);
    }
    let unchanged = of_test.put(&server, &json!({}));
    assert_eq!(unchanged.status, 200, "{}", unchanged.text);
    let of_live = open(Mode::Live, &app.live.publishable);
    let changed = of_live.put(&server, &json!({"redirect_uris": uris}));
    assert_eq!(
        (changed.status, &changed.json()["redirect_uris"]),
        (200, &uris),
        "{}",
        changed.text
    );
}

/// A process may end between the keys and the consents of a registration.
#[test]
fn an_interrupted_end_can_be_repeated() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let token = server
        .store
        .managed_registrations()
        .create_token("app", Mode::Test, Actor::Operator)
        .unwrap();
    let finished = Flow::of(&app).finish(&server);
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let sql = "UPDATE client SET retired_at = ?1 WHERE id = ?2";
    store
        .execute(sql, rusqlite::params![START, app.test.publishable])
        .unwrap();
    let uri = format!("/oauth/register/{}", app.test.publishable);
    bad_token(&sent(&server, "GET", &uri, &token, &Value::Null));
    let ended = sent(&server, "DELETE", &uri, &token, &Value::Null);
    assert_eq!(ended.status, 204, "{}", ended.text);
    assert_eq!(
        server
            .store
            .consents()
            .get(&finished.consent)
            .unwrap()
            .unwrap()
            .state
            .name(),
        "REVOKED"
    );
    bad_token(&sent(&server, "DELETE", &uri, &token, &Value::Null));
}
