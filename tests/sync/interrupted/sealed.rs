//! A service over a sealed lake is killed during a sync. Its fetched files remain on the disk, but cannot be read.

use std::collections::BTreeMap;
use std::path::PathBuf;

use aho_corasick::AhoCorasick;
use serde_json::{Value, json};
use tabularium::consent::JobState;

use super::super::world::World;
use super::service::{Held, Service, lasting_address};
use crate::harness::lake::files_below;
use crate::sealed::telling_texts;

/// All files of the folder with their bytes. Files are created and removed meanwhile.
fn bytes(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(world.server.folder()).into_iter();
    files
        .filter_map(|path| Some((path.clone(), std::fs::read(path).ok()?)))
        .collect()
}

/// Fetched records that were not committed yet were unencrypted in the folder `spool`, beside sealed files.
#[test]
fn what_a_killed_sync_leaves_beside_a_sealed_lake_is_read_by_nobody() {
    let world = World::sealed(1);
    world.payer.turn("all", &json!({"attachments": ["text", "html"]}));
    let address = lasting_address();
    let service = Service::start(&world, &address);
    let empty = bytes(&world);
    // The catalog is locked, so nothing is committed before or after everything is fetched.
    let catalog = Held::catalog(&world);
    let connected = world.connect("riverbend", 0);
    let spool = world.server.folder().join("spool");
    let is_fetched = || {
        let files = files_below(&spool);
        files.iter().any(|path| path.ends_with("zz-attachments.ndjson"))
    };
    world.until("all records", is_fetched);
    service.kill();
    let left = bytes(&world);
    drop(catalog);
    let in_spool = |path: &&PathBuf| path.starts_with(&spool) && !path.ends_with("lock");
    let spooled: Vec<&PathBuf> = left.keys().filter(in_spool).collect();
    let named = |ending: &str| {
        spooled
            .iter()
            .filter(|path| path.to_string_lossy().contains(ending))
            .count()
    };
    assert!(named("Patient") > 0 && named("/attachment-") > 0, "{spooled:?}");
    let length: usize = spooled.iter().map(|path| left[*path].len()).sum();
    assert!(length > 10_000, "{length}");

    // The next start fetches everything again, and logs the earlier remains.
    let service = Service::start(&world, &address);
    assert_eq!(world.end_of(&connected), JobState::Completed);
    world.lake().refresh().unwrap();
    let rows = world.all_rows(&connected);
    let records: Vec<Value> = rows
        .iter()
        .map(|(_, row)| serde_json::from_str(&row.resource).unwrap())
        .collect();
    let mut texts = telling_texts(&records);
    // The store itself contains ids and addresses, which it needs to find the owner of an authorization.
    let ours = [&connected.patient, &connected.source_patient].map(|id| format!("Patient/{id}"));
    let ids = [
        &connected.patient,
        &connected.source_patient,
        &connected.authorization,
        &connected.consent,
    ];
    texts.retain(|text| !ours.contains(text) && !ids.contains(&text));
    assert!(rows.iter().any(|(identity, _)| identity.2 == "Binary"));
    // Texts that existed before the sync, such as the organization's name, do not count.
    let was_there = |text: &String| {
        let mut files = empty.values();
        files.any(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some())
    };
    texts.retain(|text| !was_there(text));
    assert!(texts.len() > 100);
    let any = AhoCorasick::new(&texts).unwrap();
    let in_clear = |files: &BTreeMap<PathBuf, Vec<u8>>| {
        let found = files
            .iter()
            .find_map(|(path, bytes)| Some((path.clone(), any.find(bytes)?.pattern())));
        found.map(|(path, text)| (path, texts[text.as_usize()].clone()))
    };
    assert_eq!(in_clear(&left), None, "after the kill");
    assert_eq!(in_clear(&bytes(&world)), None, "after the sync");
    drop(service);
    assert!(files_below(&spool).iter().all(|path| path.ends_with("lock")));
}
