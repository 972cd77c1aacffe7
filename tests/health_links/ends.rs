//! The end of links: a link ends with its time, its consent or its records. Then the bytes of its file are gone from
//! the disk.

use serde_json::{Value, json};
use tabularium::consent::{Actor, LOCAL_APPLICATION};
use tabularium::lake::Mode;

use super::{Link, ask, audit, made, never, over, server};
use crate::harness::consented::{App, Finished, Flow};
use crate::harness::records::{self, Record};
use crate::harness::server::{START, Server};
use crate::patient::cards;

/// The encrypted text of a link's file.
fn file(server: &Server, link: &Link) -> String {
    let manifest = link.manifest(server, &json!({})).json();
    let jwe = manifest["files"][0]["embedded"].as_str().unwrap().to_owned();
    jwe.split('.').nth(3).unwrap().to_owned()
}

/// Whether any file outside of the lake contains the middle of this text.
fn is_on_disk(server: &Server, text: &str) -> bool {
    let part = &text.as_bytes()[text.len() / 2..text.len() / 2 + 40];
    let mut names = ["service.sqlite", "service.sqlite-wal"].into_iter();
    names.any(|name| {
        let bytes = std::fs::read(server.folder().join(name)).unwrap_or_default();
        memchr::memmem::find(&bytes, part).is_some()
    })
}

/// Creates a link, ends it by `end`, and checks that nothing remains.
fn ends(server: &Server, made: &Value, end: impl FnOnce()) {
    let link = Link::of(server, made);
    let file = file(server, &link);
    assert!(is_on_disk(server, &file));
    end();
    assert_eq!(over(&link.manifest(server, &json!({}))), never(server));
    server.store.sweep().unwrap();
    assert!(!is_on_disk(server, &file), "the file is still there");
    assert_eq!(over(&link.manifest(server, &json!({}))), never(server));
}

/// Finishes a flow whose records are fetched. Returns its token too.
fn connected(server: &Server, app: &App, flow: Flow<'_>) -> (Finished, String) {
    let finished = flow.finish(server);
    let tokens = finished.tokens(server);
    let rows = finished
        .patients
        .iter()
        .zip(&finished.authorizations)
        .map(|(patient, authorization)| Record {
            mode: Mode::Test,
            application: app.id.clone(),
            owner: finished.owner,
            patient: Some(patient.clone()),
            authorization: Some(authorization.clone()),
            ..Record::new(json!({"resourceType": "Patient", "id": patient, "name": [{"text": "Connected"}]}))
        });
    records::commit(&server.lake, &rows.collect::<Vec<_>>());
    // Changes the store as a worker would.
    let store = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    store.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    store
        .execute("UPDATE sync_job SET state = 'COMPLETED', finished_at = 1800000005", [])
        .unwrap();
    server.store.refresh().unwrap();
    (finished, tokens["access_token"].as_str().unwrap().to_owned())
}

fn link(server: &Server, token: &str, body: &Value) -> Value {
    let answer = ask(server, token, body);
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.json()
}

#[test]
fn an_expired_link_is_gone() {
    let server = server();
    let made = made(&server, &json!({"exp": START + 600}));
    ends(&server, &made, || server.store.clock().advance(600));
    assert_eq!(audit(&server, "health-link.expired"), [made["id"].as_str().unwrap()]);
}

#[test]
fn a_revoked_link_is_gone() {
    let server = server();
    let made = made(&server, &json!({}));
    let path = format!("/rest/health-links/{}", made["id"].as_str().unwrap());
    let bearer = format!("Bearer {}", server.patient_token("anna"));
    ends(&server, &made, || {
        assert_eq!(
            server.send("DELETE", &path, &[("authorization", &bearer)], "").status,
            204
        );
    });
    assert_eq!(audit(&server, "health-link.revoked").len(), 1);
}

#[test]
fn a_revoked_consent_takes_its_links_along() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let (finished, token) = connected(&server, &app, Flow::of(&app));
    let (other, kept) = connected(&server, &app, Flow::of(&app));
    let (made, kept) = (link(&server, &token, &json!({})), link(&server, &kept, &json!({})));
    ends(&server, &made, || {
        server
            .store
            .consents()
            .revoke(&finished.consent, Actor::Patient)
            .unwrap();
    });
    assert_eq!(Link::of(&server, &kept).manifest(&server, &json!({})).status, 200);
    assert_eq!(server.store.health_links().of_consent(&other.consent).unwrap().len(), 1);
}

#[test]
fn a_revocation_over_the_link_api_leaves_no_bytes_of_a_link() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let (finished, token) = connected(&server, &app, Flow::of(&app));
    let link = Link::of(&server, &link(&server, &token, &json!({})));
    let file = file(&server, &link);
    assert!(is_on_disk(&server, &file));
    server.store.revoke_links(&finished.consent).unwrap();
    assert!(!is_on_disk(&server, &file), "the file is still there");
    assert_eq!(over(&link.manifest(&server, &json!({}))), never(&server));
}

#[test]
fn an_expunge_ends_links_and_cards() {
    let server = server();
    let token = server.patient_token("anna");
    let card = cards::issue(&server, &token);
    let (kid, rid) = cards::names(&server, &card);
    assert_eq!(cards::revoked(&server, &kid).1, [] as [Value; 0]);
    let (made, kept) = (
        link(&server, &token, &json!({})),
        link(&server, &server.patient_token("bert"), &json!({})),
    );
    ends(&server, &made, || {
        let path = "/fhir/Patient/$PATIENT_ID/$expunge";
        let bearer = format!("Bearer {token}");
        let accepted = server.send("POST", path, &[("authorization", &bearer)], "");
        assert_eq!(accepted.status, 200, "{}", accepted.text);
    });
    assert_eq!(cards::revoked(&server, &kid).1, [json!(rid)]);
    assert_eq!(Link::of(&server, &kept).manifest(&server, &json!({})).status, 200);
    let refused = ask(&server, &token, &json!({}));
    assert!(refused.status >= 400, "{}", refused.text);
}

#[test]
fn what_a_link_shows_of_one_time_records_is_gone_with_them() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let (_, token) = connected(&server, &app, Flow::once(&app));
    let made = link(&server, &token, &json!({"exp": START + 30 * 86_400}));
    assert_eq!(made["expiresAt"], "2027-01-16T08:00:00Z", "a day is all there is");
    ends(&server, &made, || server.store.clock().advance(86_400));
}

#[test]
fn no_link_outlasts_the_refresh_window() {
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let (finished, token) = connected(&server, &app, Flow::of(&app));
    let made = link(&server, &token, &json!({"exp": START + 300 * 86_400}));
    let until = server
        .store
        .consents()
        .get(&finished.consent)
        .unwrap()
        .unwrap()
        .refresh_until
        .unwrap();
    assert_eq!(Link::of(&server, &made).payload["exp"], until);
    ends(&server, &made, || server.store.clock().advance(until - START));
}

#[test]
fn erased_imported_records_take_their_links_along() {
    let server = server();
    let made = made(&server, &json!({}));
    ends(&server, &made, || {
        server
            .store
            .forget_imported(LOCAL_APPLICATION, Mode::Live, "anna")
            .unwrap();
    });
}

#[test]
fn whoever_erases_a_consents_records_ends_its_links() {
    let server = server();
    let (one, two) = (made(&server, &json!({})), made(&server, &json!({"flag": "U"})));
    let consent = server
        .store
        .consents()
        .of_imported(LOCAL_APPLICATION, Mode::Live, "anna")
        .unwrap();
    ends(&server, &one, || {
        assert_eq!(
            server
                .store
                .health_links()
                .revoke_all(&consent, Actor::Service)
                .unwrap(),
            2
        );
    });
    let direct = server.send("GET", &format!("{}?recipient=x", Link::of(&server, &two).path), &[], "");
    assert_eq!(over(&direct), never(&server));
    assert_eq!(
        server
            .store
            .health_links()
            .revoke_all(&consent, Actor::Service)
            .unwrap(),
        0
    );
}

/// If records are revoked while a file of them is created, they must not live on in the link.
#[test]
fn a_link_of_records_that_ended_meanwhile_is_not_made() {
    use tabularium::consent::{LinkContent, LinkRefusal, NewHealthLink};
    let server = Server::start(&[]);
    let app = App::register(&server.store, "app");
    let (finished, _) = connected(&server, &app, Flow::of(&app));
    let terms = server.store.health_links().terms(&finished.consent).unwrap().unwrap();
    let new = NewHealthLink {
        consent: &finished.consent,
        terms: &terms,
        content: LinkContent::Summary,
        label: None,
        passcode: None,
        is_direct: false,
        expires_at: START + 60,
        file: "jwe",
    };
    assert!(server.store.health_links().create(&new).unwrap().is_ok());
    server
        .store
        .consents()
        .revoke(&finished.consent, Actor::Application)
        .unwrap();
    assert_eq!(
        server.store.health_links().create(&new).unwrap().unwrap_err(),
        LinkRefusal::Changed
    );
    assert!(
        server
            .store
            .health_links()
            .of_consent(&finished.consent)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn while_another_process_reads_the_log_waits_and_the_link_is_over_all_the_same() {
    let server = server();
    let made = made(&server, &json!({}));
    let link = Link::of(&server, &made);
    let file = file(&server, &link);
    let reader = rusqlite::Connection::open(server.folder().join("service.sqlite")).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM health_link;")
        .unwrap();
    let consent = server
        .store
        .consents()
        .of_imported(LOCAL_APPLICATION, Mode::Live, "anna")
        .unwrap();
    assert_eq!(
        server
            .store
            .health_links()
            .revoke_all(&consent, Actor::Operator)
            .unwrap(),
        1
    );
    assert!(!server.store.health_links().wipe_ended().unwrap());
    assert_eq!(over(&link.manifest(&server, &json!({}))), never(&server));
    reader.execute_batch("COMMIT").unwrap();
    server.store.sweep().unwrap();
    assert!(!is_on_disk(&server, &file));
}
