//! A backup of a sealed lake, taken before an erasure and searched with every key that still exists: nothing of the
//! person can be read.

use std::path::{Path, PathBuf};
use std::process::Command;

use aho_corasick::AhoCorasick;
use arrow::array::AsArray;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::encryption::decrypt::FileDecryptionProperties;
use serde_json::{Value, json};
use tabularium::consent::{Expunge, Expunged};
use tabularium::lake::seal::KeyStore;
use tabularium::sync::carry_out_erasures;

use super::super::world::World;
use crate::harness::kind::{KEK, kek};
use crate::harness::lake::files_below;
use crate::harness::process::PROGRAM;
use crate::harness::stored::{Identity, Stored};
use crate::sealed::telling_texts;

/// All remaining keys of a lake.
fn keys(data: &Path) -> Vec<Vec<u8>> {
    let store = KeyStore::open(data, kek().load().unwrap()).unwrap();
    let ids = store.ids().unwrap();
    ids.iter().map(|id| store.key(id).unwrap().secret().to_vec()).collect()
}

/// All texts of a data file, if this key opens it, whichever key the file names.
fn rows(path: &Path, key: &[u8]) -> Option<String> {
    let decryption = FileDecryptionProperties::builder(key.to_vec()).build().unwrap();
    let options = ArrowReaderOptions::new().with_file_decryption_properties(decryption);
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).ok()?;
    let mut texts = String::new();
    for batch in reader.build().ok()? {
        for column in batch.ok()?.columns() {
            for text in column.as_string_opt::<i32>().into_iter().flatten().flatten() {
                texts.push_str(text);
                texts.push('\n');
            }
        }
    }
    Some(texts)
}

/// The trailer of an attachment, if this key opens it, whichever key the file names. `LAYOUT.md` has the form.
fn trailer(bytes: &[u8], key: &[u8]) -> Option<String> {
    const MAGIC: usize = 8;
    let id = &bytes[MAGIC..MAGIC + 16];
    let end = bytes.len() - MAGIC - 4;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize;
    let pieces = end - length - MAGIC - 16;
    let mut text = bytes[end - length..end].to_vec();
    let place = [id, b"t", &(pieces as u64).to_le_bytes(), &[0]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).unwrap());
    let (nonce, sealed) = text.split_at_mut(12);
    let nonce = Nonce::try_assume_unique_for_key(nonce).unwrap();
    let clear = key.open_in_place(nonce, Aad::from(&place[..]), sealed).ok()?;
    Some(String::from_utf8(clear.to_vec()).unwrap())
}

/// The contents that the remaining keys can read: of data files and delete files, and of attachments.
fn readable(files: &Path, keys: &[Vec<u8>]) -> (Vec<String>, Vec<String>) {
    let (mut of_tables, mut attached) = (Vec::new(), Vec::new());
    for path in files_below(files) {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.ends_with(b"PARE") {
            of_tables.extend(keys.iter().find_map(|key| rows(&path, key)));
        } else if bytes.ends_with(b"TABATT2\n") {
            attached.extend(keys.iter().find_map(|key| trailer(&bytes, key)));
        }
    }
    (of_tables, attached)
}

#[test]
fn no_backup_of_a_sealed_lake_shows_who_was_erased_later() {
    let world = World::sealed(2);
    world.payer.turn("all", &json!({"attachments": ["text", "html"]}));
    let fresh = tempfile::tempdir().unwrap();
    let (data, to) = (world.server.folder().to_owned(), fresh.path().join("backups"));
    let backup = || {
        let arguments = ["--data", data.to_str().unwrap(), "--to", to.to_str().unwrap()];
        let mut program = Command::new(PROGRAM);
        let done = program
            .arg("backup")
            .args(arguments)
            .env(KEK.0, KEK.1)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let files = to.join("files");
    world.work();
    let stays = world.synced("riverbend", 1);
    let others = world.all_rows(&stays);
    let gone = world.synced("riverbend", 0);
    world.rest();
    backup();
    let own = world.all_rows(&gone);
    assert!(own.iter().any(|(identity, _)| identity.2 == "Binary"));
    let parsed = |rows: &[(Identity, Stored)]| -> Vec<Value> {
        let rows = rows.iter();
        rows.map(|(_, row)| serde_json::from_str(&row.resource).unwrap())
            .collect()
    };
    let mut texts = telling_texts(&parsed(&own));
    // The store has the ids of consents and of their Patients. Both people's records have the organization's texts.
    let ours = [&gone.patient, &gone.source_patient].map(|id| format!("Patient/{id}"));
    let ids = [&gone.patient, &gone.source_patient, &gone.authorization, &gone.consent];
    texts.retain(|text| !ours.contains(text) && !ids.contains(&text));
    let of_others = telling_texts(&parsed(&others));
    texts.retain(|text| of_others.binary_search(text).is_err());
    let was_there = |text: &String| {
        let store = std::fs::read(data.join("service.sqlite")).unwrap();
        memchr::memmem::find(&store, text.as_bytes()).is_some()
    };
    texts.retain(|text| !was_there(text));
    assert!(texts.len() > 20, "{texts:?}");
    let any = AhoCorasick::new(&texts).unwrap();
    let in_clear = || -> Option<(PathBuf, String)> {
        files_below(&files).into_iter().find_map(|path| {
            let found = any.find(&std::fs::read(&path).unwrap())?.pattern();
            Some((path, texts[found.as_usize()].clone()))
        })
    };
    let is_of = |trailer: &String, owner: i64| {
        let trailer: Value = serde_json::from_str(trailer).unwrap();
        trailer["owner"] == owner
    };
    // Before the erasure the keys open everything.
    let (of_tables, attached) = readable(&files, &keys(&data));
    assert!(of_tables.iter().any(|text| any.is_match(text)));
    let before = of_tables.len();
    for owner in [gone.owner, stays.owner] {
        assert!(attached.iter().any(|trailer| is_of(trailer, owner)));
    }
    assert_eq!(in_clear(), None);

    let asked = Expunge {
        consent: &gone.consent,
        request: "r",
        imported: &[],
    };
    let Expunged::Accepted(job) = world.store().expunge(&asked).unwrap() else {
        panic!("not accepted")
    };
    let came = carry_out_erasures(world.store(), world.lake(), 0, &world.rules()).unwrap();
    assert_eq!((came.done, came.left), (1, 0));
    assert!(
        world
            .store()
            .erasure_jobs()
            .get(&job.id)
            .unwrap()
            .unwrap()
            .receipt
            .is_some()
    );
    for when in ["before the next backup", "after it"] {
        let (of_tables, attached) = readable(&files, &keys(&data));
        println!("{when}: {} of {before} files", of_tables.len());
        let shown = of_tables.iter().find(|text| any.is_match(text.as_str()));
        assert_eq!(shown, None, "{when}");
        assert!(!attached.iter().any(|trailer| is_of(trailer, gone.owner)), "{when}");
        assert!(attached.iter().any(|trailer| is_of(trailer, stays.owner)), "{when}");
        assert_eq!(in_clear(), None, "{when}");
        backup();
    }
    let _ = std::fs::remove_file(data.with_added_extension("erasures"));
}
