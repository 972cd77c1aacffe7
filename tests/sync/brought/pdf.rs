//! `$pdf` and `tabularium pdf` of synced records: the pages contain the synced documents for the patient, the
//! application and the command, and no other person's.

use serde_json::{Value, json};
use tabularium::consent::Credential;
use tabularium::ingest::{Options, Session};
use tabularium::lake::Mode;
use tabularium::sync::{Settings, SyncLimits};

use super::super::world::{Connected, World, pace};
use crate::harness::command::record;
use crate::pdf::reading::{pages, squeezed, text};

const KINDS: [&str; 5] = ["pdf", "text", "html", "rtf", "ccda"];
const PDF: &str = "/fhir/Patient/$PATIENT_ID/$pdf";

/// People whose organization has documents of these kinds.
fn world(people: u64, kinds: &[&str]) -> World {
    let world = World::new(people, Mode::Live);
    world.payer.turn("riverbend", &json!({"attachments": kinds}));
    world.work_at(Settings {
        limits: SyncLimits::default(),
        pace: pace(),
        ..Settings::default()
    });
    world.store().settings().set_base_url(&world.base_url()).unwrap();
    world
}

/// The size limit of an attachment in a sync, so that some stay at the source.
const MOST: u64 = 16 << 10;

/// Documents that stayed at the source are fetched for the pages. Missing ones are reported on the last page and in the
/// headers.
#[test]
fn what_stayed_at_the_source_is_fetched_for_the_pages() {
    let world = World::new(1, Mode::Live);
    let documents = json!({"attachments": ["text", "large", "missing", "forbidden"], "attachment_bytes": 2 * MOST});
    world.payer.turn("riverbend", &documents);
    let limits = SyncLimits {
        attachment: MOST,
        ..SyncLimits::default()
    };
    world.work_at(Settings {
        limits,
        pace: pace(),
        ..Settings::default()
    });
    world.store().settings().set_base_url(&world.base_url()).unwrap();
    let connected = world.synced("riverbend", 0);
    let line = line(&world, 0);
    let authorization = format!("Bearer {}", connected.token);
    let get = || {
        let headers = [("authorization", authorization.as_str())];
        let (status, headers, file) = world.server.send_bytes("GET", PDF, &headers, &[]);
        assert_eq!(status, 200);
        let header = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        (
            header("x-pdf-sources-failed"),
            header("x-pdf-sources-failed-names"),
            file,
        )
    };
    let (failed, names, file) = get();
    assert_eq!((failed.as_str(), names.as_str()), ("1", "Riverbend Medical Center"));
    let shown = text(&file);
    // The large document repeats the line.
    assert!(shown.matches(&line).count() > 200, "{}", shown.matches(&line).count());
    let lost = [
        "Not shown: the source did not give the document: it answered with status 404.",
        "Not shown: the source did not give the document: it answered with status 403.",
    ];
    for lost in lost {
        assert!(shown.contains(&squeezed(lost)), "{lost}");
    }
    let last = pages(&file).pop().unwrap();
    for told in [
        "What is missing",
        "A document as missing",
        "status 404",
        "A document as forbidden",
        "status 403",
    ] {
        assert!(last.contains(&squeezed(told)), "{told}: {last}");
    }
    // If access has ended, nothing is requested.
    let asked = world.payer.requests("riverbend");
    let credential = world
        .store()
        .credentials()
        .get(&connected.authorization)
        .unwrap()
        .unwrap();
    let over = Credential {
        expires_at: Some(1),
        ..credential
    };
    world
        .store()
        .credentials()
        .save(&connected.authorization, &over)
        .unwrap();
    let (failed, _, file) = get();
    assert_eq!(failed, "1");
    let shown = text(&file);
    assert_eq!(
        shown
            .matches(&squeezed("did not give the document: access to it has ended"))
            .count(),
        6
    );
    assert_eq!(world.payer.requests("riverbend"), asked);
    // The command sends no requests, so documents at the source are missing.
    let by_command = record("pdf", world.server.folder(), &["--patient", &connected.patient]);
    assert_eq!(
        text(&by_command.stdout)
            .matches("Notshown:thedocumentisnotheldhere")
            .count(),
        3
    );
}

/// The PDF for a token, and the number of failed sources.
fn pdf(world: &World, path: &str, token: &str) -> (String, Vec<u8>) {
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str())];
    let (status, headers, file) = world.server.send_bytes("GET", path, &headers, &[]);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&file));
    (headers["x-pdf-sources-failed"].to_str().unwrap().to_owned(), file)
}

/// A person's PDF from each caller: the patient's token, the application's token, and the command.
fn by_all_ways(world: &World, patient: &str, token: &str) -> Vec<(&'static str, Vec<u8>)> {
    let application = world.server.application_token();
    let concrete = format!("/fhir/Patient/{patient}/$pdf");
    let by_command = record("pdf", world.server.folder(), &["--patient", patient]);
    let said = String::from_utf8_lossy(&by_command.stderr).into_owned();
    assert!(by_command.status.success(), "{said}");
    let files = [
        ("patient", pdf(world, PDF, token)),
        ("patient by id", pdf(world, &concrete, token)),
        ("application", pdf(world, &concrete, &application)),
    ];
    let files = files.into_iter().map(|(way, (failed, file))| {
        assert_eq!(failed, "0", "{way}");
        (way, file)
    });
    files.chain([("command", by_command.stdout)]).collect()
}

/// The line in all documents of a person.
fn line(world: &World, person: u64) -> String {
    let person = world.payer.person(person);
    squeezed(&format!(
        "{} {}, born {}",
        person.given, person.family, person.birth_date
    ))
}

/// Only Binaries with their bytes inside were read, which synced ones do not have. So each was shown as "not held
/// here". The command showed none of a synced Patient's records.
#[test]
fn documents_that_a_sync_brought_are_in_the_pages() {
    let world = world(1, &KINDS);
    let connected = world.synced("riverbend", 0);
    let line = line(&world, 0);
    for (way, file) in by_all_ways(&world, &connected.patient, &connected.token) {
        let text = text(&file);
        for kind in KINDS {
            assert!(
                text.contains(&squeezed(&format!("A document as {kind}"))),
                "{way}: {kind}"
            );
        }
        let edition = squeezed(", edition 0.");
        assert_eq!(text.matches(&format!("{line}{edition}")).count(), KINDS.len(), "{way}");
        assert!(!text.contains("Notshown:"), "{way}");
    }
}

#[test]
fn nobody_elses_documents_are_in_the_pages() {
    let world = world(2, &["text"]);
    let (one, other) = (world.synced("riverbend", 0), world.synced("riverbend", 1));
    // An imported person of the same application, whose records name the Binaries of both people.
    let binary = |connected: &Connected| {
        let id = format!("{}-text", connected.source_patient);
        world.lake().synced_id(connected.owner, "riverbend", "Binary", &id)
    };
    let content: Vec<Value> = [&one, &other]
        .iter()
        .flat_map(|connected| {
            let id = binary(connected);
            [format!("Binary/{id}"), format!("{}/fhir/Binary/{id}", world.base_url())]
        })
        .map(|url| json!({"attachment": {"contentType": "text/plain", "url": url}}))
        .collect();
    let patient = json!({"resourceType": "Patient", "id": "sly", "name": [{"family": "Sly"}]});
    let document = json!({"resourceType": "DocumentReference", "id": "sly", "status": "current",
        "subject": {"reference": "Patient/sly"}, "content": content});
    let mut writer = world.lake().writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    for resource in [patient, document] {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
    drop(writer);
    world.lake().refresh().unwrap();
    let application = world.server.application_token();
    assert_eq!(
        world
            .get(&format!("/fhir/Binary/{}", binary(&one)), &application)
            .status,
        200
    );
    let (of_one, of_other) = (line(&world, 0), line(&world, 1));
    for (way, file) in by_all_ways(&world, "sly", &world.server.patient_token("sly")) {
        let text = text(&file);
        assert_eq!(text.matches("Notshown:").count(), 4, "{way}");
        assert!(!text.contains(&of_one) && !text.contains(&of_other), "{way}");
    }
    for (connected, own, others) in [(&one, &of_one, &of_other), (&other, &of_other, &of_one)] {
        for (way, file) in by_all_ways(&world, &connected.patient, &connected.token) {
            let text = text(&file);
            assert!(text.contains(own) && !text.contains(others), "{way}");
        }
    }
}
