//! The PDF of a verified patient with records at several places: a part for each place, with its C-CDA documents.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::json;
use tabularium::consent::JobState;
use tabularium::sync::client::{Client, Guard, HttpLimits};
use tabularium::sync::{Settings, Worker};

use super::super::world::World;
use super::identity::{IDENTITY, verified};
use crate::pdf::reading::{assert_in_order, squeezed, text};

const PDF: &str = "/fhir/Patient/$PATIENT_ID/$pdf";

/// Syncs all sources of the newest consent.
fn sync(world: &World) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let sources = Client::new(Guard::Private, HttpLimits::default()).unwrap();
    let worker = {
        let _runtime = runtime.enter();
        let (store, lake) = (world.store().clone(), world.server.lake.clone());
        Worker::start(store, lake, sources, &world.base(), Settings::default())
    };
    let deadline = Instant::now() + Duration::from_secs(300);
    for authorization in world.authorizations() {
        let job = || {
            world
                .store()
                .jobs()
                .of_authorization(&authorization.id)
                .unwrap()
                .remove(0)
        };
        while job().state.is_open() {
            assert!(Instant::now() < deadline, "{:?}", job());
            std::thread::park_timeout(Duration::from_millis(5));
        }
        assert_eq!(job().state, JobState::Completed, "{:?}", job().failure);
    }
    runtime.block_on(worker.stop());
}

fn get(world: &World, path: &str, token: &str) -> (ureq::http::HeaderMap, Vec<u8>) {
    let authorization = format!("Bearer {token}");
    let headers = [("authorization", authorization.as_str())];
    let (status, headers, bytes) = world.server.send_bytes("GET", path, &headers, &[]);
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    (headers, bytes)
}

#[test]
fn documents_of_each_place_stand_in_its_part() {
    let world = World::new();
    let places = ["northfield", "eastgate", "oldmill"];
    for place in places {
        world.payer.turn(place, &json!({"attachments": ["ccda"]}));
    }
    let mut browser = world.enter(&[IDENTITY]);
    // The third person was seen at three places and chooses two.
    verified(&world, &mut browser, 2);
    let found = browser.page.values("facility");
    browser.send("facilities", &[("facility", &found[0]), ("facility", &found[1])]);
    let page = browser.press("finish", &[]).clone();
    let granted = world.exchange(&page.answer("code").unwrap());
    let token = granted["access_token"].as_str().unwrap();
    sync(&world);

    let sources = world
        .store()
        .consents()
        .full(&world.consent().id)
        .unwrap()
        .unwrap()
        .sources;
    let labels: Vec<String> = sources.iter().map(|source| source.endpoint.label[0].clone()).collect();
    let person = world.payer.person(2);
    let line = squeezed(&format!(
        "{} {}, born {}",
        person.given, person.family, person.birth_date
    ));
    let (headers, file) = get(&world, PDF, token);
    assert_eq!(
        (&headers["x-pdf-sources-total"], &headers["x-pdf-sources-failed"]),
        (&"2".parse().unwrap(), &"0".parse().unwrap())
    );
    let mut expected = vec!["Sources", labels[0].as_str(), &labels[1]];
    for label in &labels {
        // Facilities mostly send documents, so these come before the sections.
        expected.extend([
            label.as_str(),
            "Attached documents",
            "A document as ccda",
            "Demographics",
        ]);
    }
    assert_in_order(&file, &expected);
    assert!(text(&file).matches(&line).count() >= 2, "{line}");

    let (_, packed) = get(&world, &format!("{PDF}?_format=zip"), token);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(packed)).unwrap();
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut inside = archive.by_index(at).unwrap();
        let mut file = Vec::new();
        inside.read_to_end(&mut file).unwrap();
        files.insert(inside.name().unwrap().to_string(), file);
    }
    let names: Vec<String> = labels.iter().map(|label| format!("ial2-{label}.pdf")).collect();
    assert!(
        sources
            .iter()
            .zip(&labels)
            .all(|(source, label)| source.endpoint.name != *label)
    );
    assert_eq!(files.len(), 2, "{:?}", files.keys());
    for (name, (own, other)) in names.iter().zip([(&labels[0], &labels[1]), (&labels[1], &labels[0])]) {
        let file = &files[name];
        assert_in_order(
            file,
            &[own.as_str(), "Attached documents", "A document as ccda", "Demographics"],
        );
        assert!(!text(file).contains(&squeezed(other)), "{name}");
    }
}
