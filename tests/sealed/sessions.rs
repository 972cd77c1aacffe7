//! Sessions of the consent flow beside a sealed lake: what a patient enters is in no file of the folder.

use rusqlite::Connection;
use tabularium::consent::{
    Actor, Clock, Details, Display, Door, FlowRequest, Hints, IDLE_SECONDS, RecordLocation, SessionKey, Step, Store,
    Way,
};
use tabularium::lake::Mode;

use super::{Scene, people};

/// The application's hints, the patient's details, and the place that was found with them.
const PERSON: [&str; 8] = [
    "Zebulonia",
    "Quastenflosser",
    "1961-02-03",
    "Theodelinde",
    "Bartgeier",
    "1962-03-04",
    "SW1A-2AA",
    "patient-4711-at-the-source",
];
const NOW: i64 = 1_800_000_000;

fn request(store: &Store) -> FlowRequest {
    FlowRequest {
        door: Door::Oauth,
        client: store.clients().of("local", Mode::Live).unwrap().id.to_string(),
        redirect_uri: Some("https://app.example/back".to_owned()),
        state: None,
        challenge: Some("c".to_owned()),
        offline: true,
        external_id: None,
        endpoint: None,
        way: Way::Search,
        hints: Hints {
            given: Some(PERSON[0].to_owned()),
            family: Some(PERSON[1].to_owned()),
            birth_date: Some(PERSON[2].to_owned()),
        },
        display: Display::Page,
        holder: None,
        fingerprint: "f".to_owned(),
    }
}

/// A session in which the patient has entered details and a place was found. Returns its key and its consent.
fn begun(store: &Store) -> (SessionKey, String) {
    let flows = store.flows();
    let client = store.clients().of("local", Mode::Live).unwrap();
    // An owner of its own for each consent.
    let owner_of = |id: &str| {
        id.bytes()
            .fold(7_i64, |owner, byte| owner.wrapping_mul(31) + i64::from(byte))
    };
    let begun = flows.begin(&client, &request(store), owner_of).unwrap();
    let key = begun.flow.key;
    flows.visit(key).unwrap();
    flows.go_to(key, Step::Details { down: false }).unwrap();
    let details = Details {
        given: PERSON[3].to_owned(),
        family: PERSON[4].to_owned(),
        birth_date: PERSON[5].to_owned(),
        gender: String::new(),
        postal_code: PERSON[6].to_owned(),
    };
    let turn = flows.take_details(key, details).unwrap();
    let place = RecordLocation {
        endpoint: "e".to_owned(),
        name: "Clinic".to_owned(),
        patient: PERSON[7].to_owned(),
    };
    flows.located(key, turn, vec![place]).unwrap();
    (key, begun.flow.consent.id)
}

/// The texts about the person that a file of the folder contains.
fn in_clear(scene: &Scene) -> Vec<&'static str> {
    let files = scene.bytes();
    let is_in = |text: &&str| {
        files
            .values()
            .any(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some())
    };
    PERSON.into_iter().filter(is_in).collect()
}

/// Names, birth dates, postal codes and the source's Patient ids lay in `service.sqlite` as plain JSON until the flow
/// ended, and in each backup that was taken meanwhile.
#[test]
fn what_a_session_knows_of_a_person_is_in_no_file() {
    let scene = Scene::with(&people(1));
    let store = Store::open(&scene.data(), Clock::at(NOW)).unwrap();
    let (key, _) = begun(&store);
    assert_eq!(in_clear(&scene), [""; 0]);
    let flow = store.flows().peek(key).unwrap().unwrap();
    assert_eq!(flow.request.hints.given.as_deref(), Some(PERSON[0]));
    assert_eq!(flow.progress.details.postal_code, PERSON[6]);
    assert_eq!(flow.progress.places[0].patient, PERSON[7]);
    drop(store);
    assert_eq!(in_clear(&scene), [""; 0]);

    // After the flow nobody knows it, not even with the key.
    let store = Store::open(&scene.data(), Clock::at(NOW)).unwrap();
    store.clock().advance(IDLE_SECONDS);
    assert_eq!(store.sweep().unwrap().left, 1);
    let flow = store.flows().peek(key).unwrap().unwrap();
    assert_eq!(flow.request.hints, Hints::default());
    assert!(flow.progress.places.is_empty() && flow.progress.details == Details::default());
}

/// Sessions stayed when their consent was revoked.
#[test]
fn whatever_ends_a_consent_deletes_its_sessions() {
    let scene = Scene::with(&people(1));
    let store = Store::open(&scene.data(), Clock::at(NOW)).unwrap();
    let (key, consent) = begun(&store);
    let file = Connection::open(scene.data().join("service.sqlite")).unwrap();
    let sessions = || -> i64 {
        let sql = "SELECT count(*) FROM flow_session";
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(sessions(), 1);
    // As if the application had exchanged the code.
    let sql = "UPDATE consent SET state = 'EXCHANGED' WHERE id = ?1";
    file.execute(sql, [&consent]).unwrap();
    file.execute("UPDATE flow_session SET ended_at = ?1", [NOW]).unwrap();
    store.consents().revoke(&consent, Actor::Application).unwrap();
    assert_eq!(sessions(), 0);
    assert!(store.flows().peek(key).unwrap().is_none());
    drop(store);

    // An open session tells the patient that the consent has ended. Nobody waits for longer than the patient may.
    let store = Store::open(&scene.data(), Clock::at(NOW)).unwrap();
    let (_, consent) = begun(&store);
    store.consents().revoke(&consent, Actor::Application).unwrap();
    assert_eq!(sessions(), 1);
    drop(store);
    let store = Store::open(&scene.data(), Clock::at(NOW)).unwrap();
    store.clock().advance(IDLE_SECONDS);
    store.sweep().unwrap();
    assert_eq!(sessions(), 0);
}
