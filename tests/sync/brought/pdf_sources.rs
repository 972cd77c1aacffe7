//! `$pdf` of a consent with several sources: a part for each, one of them alone, and a source that failed.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use serde_json::json;
use tabularium::consent::{AuthorizationState, JobState, LOCAL_APPLICATION, Usage};
use tabularium::lake::Mode;
use tabularium::sync::{Pace, Settings};

use super::super::world::{Connected, REDIRECT, VERIFIER, World, pace};
use crate::harness::consented::App;
use crate::pdf::reading::{assert_in_order, pages, squeezed, text};

const PDF: &str = "/fhir/Patient/$PATIENT_ID/$pdf";
const PAYER: &str = "Lakeshore Health Plan";
const PROVIDER: &str = "Riverbend Medical Center";

/// A person connects a payer and a provider in one session, and the application gets a token.
fn both(world: &World) -> (Connected, Connected, String) {
    let payer = world.authorize("lakeshore", 0, Usage::Multiple);
    let provider = world.add_source(&payer.consent, "riverbend", 0, Usage::Multiple);
    let code = world.code(&payer);
    let client = world.store().clients().of(LOCAL_APPLICATION, Mode::Live).unwrap();
    let caller = world.store().clients().authenticate(&client.id, None).unwrap();
    let granted = world.server.tokens.exchange_code(&caller, &code, REDIRECT, VERIFIER);
    let token = granted.unwrap().access.token;
    (payer, provider, token)
}

/// A worker that soon gives up.
fn work(world: &World) {
    world.work_at(Settings {
        pace: Pace {
            first: Duration::from_millis(1),
            tries: 2,
            attempts: 2,
            ..pace()
        },
        ..Settings::default()
    });
}

/// The headers about sources: total, failed, names.
type Told = (String, String, String);

fn get(world: &World, path: &str, token: &str) -> (Told, Vec<u8>) {
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str())];
    let (status, headers, file) = world.server.send_bytes("GET", path, &headers, &[]);
    assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&file));
    let header = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let told = [
        "x-pdf-sources-total",
        "x-pdf-sources-failed",
        "x-pdf-sources-failed-names",
    ]
    .map(header);
    let [total, failed, names] = told;
    ((total, failed, names), file)
}

fn told(total: &str, failed: &str, names: &str) -> Told {
    (total.to_owned(), failed.to_owned(), names.to_owned())
}

/// The texts of an archive's files.
fn unpacked(bytes: Vec<u8>) -> BTreeMap<String, String> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut inside = archive.by_index(at).unwrap();
        let mut file = Vec::new();
        inside.read_to_end(&mut file).unwrap();
        files.insert(inside.name().unwrap().to_string(), text(&file));
    }
    files
}

#[test]
fn payer_and_provider_have_a_part_each_and_can_be_had_alone() {
    let world = World::new(2, Mode::Live);
    let (payer, provider, token) = both(&world);
    let other = world.connect("lakeshore", 1);
    work(&world);
    for source in [&payer, &provider, &other] {
        assert_eq!(world.end_of(source), JobState::Completed, "{:?}", world.audit(source));
    }
    let (headers, file) = get(&world, PDF, &token);
    assert_eq!(headers, told("2", "0", ""));
    assert_in_order(
        &file,
        &[
            "Sources",
            PAYER,
            PROVIDER,
            PAYER,
            "Demographics",
            "Claims",
            PROVIDER,
            "Demographics",
            "Encounters",
        ],
    );
    for (source, own, others) in [(&payer, PAYER, PROVIDER), (&provider, PROVIDER, PAYER)] {
        let path = format!("{PDF}?patient-authorization-id={}", source.authorization);
        let (headers, file) = get(&world, &path, &token);
        assert_eq!(headers, told("1", "0", ""), "{own}");
        let shown = text(&file);
        assert!(shown.contains(&squeezed("Demographics")), "{own}");
        // The other source's name stands in no record of this one.
        assert_in_order(&file, &["Sources", own, own]);
        assert!(!shown.contains(&squeezed(others)), "{others} is in the pages of {own}");
    }
    // Each authorization belongs to another consent of the same application.
    for (authorization, token) in [(&other.authorization, &token), (&payer.authorization, &other.token)] {
        let answer = world.get(&format!("{PDF}?patient-authorization-id={authorization}"), token);
        assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"));
    }
    // An application's token names the Patient, too. Its authorization was refused, whichever it was.
    let application = world.server.application_token();
    for (source, others) in [(&payer, &provider), (&provider, &payer)] {
        let path = format!("/fhir/Patient/{}/$pdf?patient-authorization-id=", source.patient);
        let (headers, file) = get(&world, &format!("{path}{}", source.authorization), &application);
        assert_eq!(headers, told("1", "0", ""));
        let own = get(
            &world,
            &format!("{PDF}?patient-authorization-id={}", source.authorization),
            &token,
        );
        assert_eq!(text(&file), text(&own.1));
        // The authorization has another Patient, or none.
        for wrong in [&others.authorization, &other.authorization, "none"] {
            let answer = world.get(&format!("{path}{wrong}"), &application);
            assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"), "{wrong}");
        }
    }
    // Another application's token reaches neither the Patient nor the authorization.
    let app = App::register(world.store(), "elsewhere");
    let foreign = world.server.tokens.for_application(&app.id, Mode::Live).unwrap().token;
    let path = format!(
        "/fhir/Patient/{}/$pdf?patient-authorization-id={}",
        payer.patient, payer.authorization
    );
    let answer = world.get(&path, &foreign);
    assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"));
    let (headers, packed) = get(&world, &format!("{PDF}?_format=zip"), &token);
    assert_eq!(headers, told("2", "0", ""));
    let files = unpacked(packed);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["oauth-lakeshore.pdf", "oauth-riverbend.pdf"]);
    assert!(files["oauth-lakeshore.pdf"].contains(&squeezed(PAYER)));
    assert!(files["oauth-riverbend.pdf"].contains(&squeezed(PROVIDER)));
}

/// A source whose first sync failed was absent without a word.
#[test]
fn a_source_whose_first_sync_failed_is_in_the_headers_and_on_a_page() {
    let world = World::new(1, Mode::Live);
    let label = "UPDATE endpoint SET label = '[\"Klinik Zürich, 100 %\"]' WHERE id = ?1";
    world.sql(label, "riverbend");
    let (payer, provider, token) = both(&world);
    world.payer.turn("riverbend", &json!({"fail_every": 1}));
    work(&world);
    assert_eq!(world.end_of(&payer), JobState::Completed, "{:?}", world.audit(&payer));
    assert_eq!(world.end_of(&provider), JobState::Failed);
    let authorization = world
        .store()
        .authorizations()
        .get(&provider.authorization)
        .unwrap()
        .unwrap();
    assert_eq!(authorization.state, AuthorizationState::Errored);

    // Percent-encoded UTF-8, so that every client reads the same name.
    let encoded = "Klinik Z%C3%BCrich%2C 100 %25";
    let label = "Klinik Zürich, 100 %";
    let (headers, file) = get(&world, PDF, &token);
    assert_eq!(headers, told("2", "1", encoded));
    assert_in_order(
        &file,
        &[
            "Sources",
            PAYER,
            label,
            "none could be had",
            PAYER,
            "Demographics",
            label,
            "The records of this source could not be had",
        ],
    );
    let last = pages(&file).pop().unwrap();
    for said in ["What is missing", label, "all records"] {
        assert!(last.contains(&squeezed(said)), "{said}: {last}");
    }
    let of = |source: &Connected| format!("{PDF}?patient-authorization-id={}", source.authorization);
    let (headers, file) = get(&world, &of(&provider), &token);
    assert_eq!(headers, told("1", "1", encoded));
    assert!(text(&file).contains(&squeezed("could not be had")));
    assert_eq!(get(&world, &of(&payer), &token).0, told("1", "0", ""));
    // A path with an id means one Patient, which the failed source has not brought.
    let path = format!("/fhir/Patient/{}/$pdf", payer.patient);
    assert_eq!(get(&world, &path, &token).0, told("1", "0", ""));
    let answer = world.get(&format!("/fhir/Patient/{}/$pdf", provider.patient), &token);
    assert_eq!((answer.status, answer.issue().as_str()), (404, "not-found"));
    let (headers, packed) = get(&world, &format!("{PDF}?_format=zip"), &token);
    assert_eq!(headers, told("2", "1", encoded));
    let files = unpacked(packed);
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["oauth-lakeshore.pdf", "oauth-riverbend.pdf"]);
    assert!(files["oauth-riverbend.pdf"].contains(&squeezed("could not be had")));
}

#[test]
fn types_that_a_source_did_not_give_are_named_in_its_part() {
    let world = World::new(1, Mode::Live);
    world
        .payer
        .turn("riverbend", &json!({"forbid": {"Observation": ["laboratory"]}}));
    work(&world);
    let connected = world.synced("riverbend", 0);
    let (headers, file) = get(&world, PDF, &connected.token);
    assert_eq!(headers, told("1", "0", ""));
    let note = "The source did not give records of these types, or not all of them: Observation.";
    assert_in_order(&file, &["Sources", PROVIDER, PROVIDER, note, "Demographics"]);
}
