//! Introspection and the consent REST API say the same of an authorization, in every state.

use rusqlite::params;
use serde_json::{Value, json};
use tabularium::consent::{AuthorizationState, ConsentState, JobState};
use tabularium::lake::Mode;

use crate::harness::consented::{App, Finished, Flow, PAYER, SECOND};
use crate::harness::server::{START, Server};

/// What happened to the records of an authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Records {
    /// They can be read.
    Here,
    /// Their time is over, and the service has not requested their erasure yet.
    Over,
    /// Their erasure was requested.
    Erased,
    /// `$expunge` requested the erasure of all records of the consent.
    Expunged,
}

const RECORDS: [Records; 4] = [Records::Here, Records::Over, Records::Erased, Records::Expunged];

/// Writes a case into the store.
fn set(
    store: &rusqlite::Connection,
    finished: &Finished,
    state: AuthorizationState,
    job: Option<JobState>,
    records: Records,
) {
    let authorization = &finished.authorizations[0];
    let over = (records == Records::Over).then_some(START - 1);
    let erased = matches!(records, Records::Erased | Records::Expunged).then_some(START - 1);
    let sql = "UPDATE patient_authorization SET state = ?1, data_until = ?2, data_erased_at = ?3 WHERE id = ?4";
    store.execute(sql, params![state, over, erased, authorization]).unwrap();
    let expunged = (records == Records::Expunged).then_some(START - 1);
    let sql = "UPDATE consent SET expunged_at = ?1 WHERE id = ?2";
    store.execute(sql, params![expunged, finished.consent]).unwrap();
    store
        .execute("DELETE FROM sync_job WHERE authorization = ?1", [authorization])
        .unwrap();
    if let Some(job) = job {
        let sql = "INSERT INTO sync_job (id, authorization, cause, state, created_at, updated_at, finished_at)
                   VALUES ('job', ?1, 'exchange', ?2, ?3, ?3, ?4)";
        let finished = matches!(job, JobState::Completed | JobState::Failed).then_some(START);
        store
            .execute(sql, params![authorization, job, START, finished])
            .unwrap();
    }
}

/// `active`, `state`, the state and the time of the sync, as an answer tells them.
fn told(about: &Value) -> [Value; 4] {
    let sync = &about["sync"];
    [
        about["active"].clone(),
        about["state"].clone(),
        sync.get("state").cloned().unwrap_or(Value::Null),
        sync["lastSyncedAt"].clone(),
    ]
}

fn get(server: &Server, path: &str, token: &str) -> Value {
    let answer = server.get(path, token);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

/// After `$expunge` and in state ERRORED, introspection said `active`, and `/rest` did not. `sync.state` was missing
/// once the records were gone.
#[test]
fn introspection_and_rest_agree_in_every_state() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let finished = Flow::of(&app).finish(&server);
    let tokens = finished.tokens(&server);
    let token = tokens["access_token"].as_str().unwrap();
    let application = server.tokens.for_application(&app.id, Mode::Test).unwrap().token;
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    let jobs: Vec<Option<JobState>> = JobState::ALL.iter().copied().map(Some).chain([None]).collect();
    for state in AuthorizationState::ALL.iter().copied() {
        for job in jobs.iter().copied() {
            for records in RECORDS {
                let case = format!("{state} {job:?} {records:?}");
                set(&store, &finished, state, job, records);
                let rest = get(&server, &format!("/rest/consent/{}", finished.consent), &application);
                let rest = told(&rest["patientAuthorizations"][0]);
                let own = told(&get(&server, "/rest/consent", token)["patientAuthorizations"][0]);
                assert_eq!(own, rest, "{case}");
                for path in ["/oauth/introspect", "/link/introspect"] {
                    assert_eq!(told(&get(&server, path, token)), rest, "{path} {case}");
                }
                let gone = state == AuthorizationState::Exchanged && records != Records::Here;
                let shown = if gone { "EXPIRED" } else { state.name() };
                let is_active = state == AuthorizationState::Exchanged && !gone;
                let synced_at = (job == Some(JobState::Completed)).then_some(START);
                let expected = [json!(is_active), json!(shown), json!(job), json!(synced_at)];
                assert_eq!(rest, expected, "{case}");
            }
        }
    }
}

/// Only an EXCHANGED consent has usable tokens, so introspection calls no token of another consent active.
#[test]
fn a_token_is_active_only_while_its_consent_is_exchanged() {
    for state in ConsentState::ALL.iter().copied() {
        let server = Server::start(&[]);
        let app = App::register(&server.store, "app");
        let finished = Flow::of(&app).finish(&server);
        let token = finished.tokens(&server)["access_token"].as_str().unwrap().to_owned();
        let application = server.tokens.for_application(&app.id, Mode::Test).unwrap().token;
        let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
        let sql = "UPDATE consent SET state = ?1 WHERE id = ?2";
        store.execute(sql, params![state, finished.consent]).unwrap();
        // What ends with a consent, or has not begun yet, is not EXCHANGED.
        let authorization = match state {
            ConsentState::Created => AuthorizationState::Authorizing,
            ConsentState::Authorized => AuthorizationState::Authorized,
            ConsentState::Exchanged => AuthorizationState::Exchanged,
            ConsentState::Abandoned => AuthorizationState::Abandoned,
            ConsentState::Revoked => AuthorizationState::Revoked,
        };
        set(
            &store,
            &finished,
            authorization,
            Some(JobState::Completed),
            Records::Here,
        );
        let rest = get(&server, &format!("/rest/consent/{}", finished.consent), &application);
        assert_eq!(rest["state"], state.name());
        let rest = told(&rest["patientAuthorizations"][0]);
        for path in ["/oauth/introspect", "/link/introspect"] {
            let answer = get(&server, path, &token);
            assert_eq!(told(&answer), rest, "{path} {state}");
            assert_eq!(answer["active"], state == ConsentState::Exchanged, "{path} {state}");
        }
        let expected = if state == ConsentState::Exchanged { 200 } else { 401 };
        assert_eq!(server.get("/rest/consent", &token).status, expected, "{state}");
    }
}

/// A source whose time was over stayed the one that introspection told of, until its erasure was requested.
#[test]
fn of_several_sources_introspection_tells_of_one_that_is_usable() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let flow = Flow {
        places: &[PAYER, SECOND],
        ..Flow::of(&app)
    };
    let finished = flow.finish(&server);
    let token = finished.tokens(&server)["access_token"].as_str().unwrap().to_owned();
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    for records in [Records::Here, Records::Over, Records::Erased] {
        set(
            &store,
            &finished,
            AuthorizationState::Exchanged,
            Some(JobState::Completed),
            records,
        );
        let rest = get(&server, "/rest/consent", &token)["patientAuthorizations"].clone();
        let usable = rest
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["active"] == true)
            .unwrap();
        for path in ["/oauth/introspect", "/link/introspect"] {
            let answer = get(&server, path, &token);
            assert_eq!(
                (&answer["active"], &answer["state"]),
                (&json!(true), &usable["state"]),
                "{records:?}"
            );
            assert_eq!(answer["endpoint"]["id"], usable["endpoint"]["id"], "{records:?}");
        }
    }
}
