//! Attachments in the lake: each row has a file that begins and ends with its snapshots. Whoever sees the row can read
//! the file, and no file is an orphan.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tabularium::ingest::{self, Options, SourceBase, Synced, SyncedAttachment, addresses};
use tabularium::lake::check::{Depth, Problem, adopt, check, check_with};
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::seal::KeyStore;
use tabularium::lake::{
    Attached, AttachmentWriter, Erased, Intent, KekSource, KeyId, Lake, LakeError, LakeOptions, Mode, PatientScope,
    Scope, SealError, Snapshot,
};

use crate::harness::lake::{Fixture, files_below, fixture};

/// What identifies a consent by its number: its owner, its authorization and its source's Patient.
fn synced(lake: &Lake, consent: u32) -> Synced {
    Synced {
        owner: lake.owner_of_consent(&format!("c{consent}")),
        authorization: format!("a{consent}"),
        endpoint: "e".to_owned(),
        base: SourceBase::new("https://payer.example/fhir"),
        identifier_system: "urn:payer".to_owned(),
        source_patient: format!("p{consent}"),
        alias: None,
        linked: Default::default(),
        tags: "https://records.example/tags".to_owned(),
        generated_patient: false,
        addresses: Arc::default(),
    }
}

fn scope(lake: &Lake, consent: u32) -> Arc<Scope> {
    let synced = synced(lake, consent);
    Arc::new(Scope {
        mode: Mode::Live,
        application: "app".into(),
        patient: Some(Arc::new(PatientScope {
            patients: vec![lake.synced_id(synced.owner, "e", "Patient", &synced.source_patient)],
            owners: vec![synced.owner],
            authorizations: vec![synced.authorization],
        })),
    })
}

fn of_application(application: &str) -> Arc<Scope> {
    Arc::new(Scope {
        mode: Mode::Live,
        application: application.into(),
        patient: None,
    })
}

/// Syncs a consent with one document.
pub(crate) fn bring(lake: &Lake, consent: u32, bytes: &[u8]) {
    bring_after(lake, consent, bytes, |_| {});
}

/// The same, with a step between the fetch and the commit. The step gets the path of the fetched file.
pub(crate) fn bring_after(lake: &Lake, consent: u32, bytes: &[u8], between: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let (file, records) = (dir.path().join("document"), dir.path().join("x.ndjson"));
    let mut writer = AttachmentWriter::create(&file, lake.folder().keys()).unwrap();
    writer.write(bytes).unwrap();
    let sums = writer.finish().unwrap();
    between(&file);
    let attachments = [SyncedAttachment {
        source_id: "b".to_owned(),
        address: "https://payer.example/fhir/files/b.txt".to_owned(),
        bytes: file,
        sums,
        origin: "o".to_owned(),
        kept: None,
    }];
    let binary = json!({"resourceType": "Binary", "id": "b", "contentType": "text/plain"});
    let patient = json!({"resourceType": "Patient", "id": format!("p{consent}")});
    std::fs::write(&records, format!("{binary}\n{patient}\n")).unwrap();
    let synced = Synced {
        addresses: addresses(&attachments),
        ..synced(lake, consent)
    };
    let options = Options {
        application: "app".to_owned(),
        ..Options::default()
    };
    let mut writer = lake.writer().unwrap();
    let summary = ingest::sync(&mut writer, options, synced, &[records.into()], &attachments).unwrap();
    assert_eq!(summary.refused, 0);
}

fn id(lake: &Lake, consent: u32) -> String {
    lake.synced_id(synced(lake, consent).owner, "e", "Binary", "b")
}

/// The bytes of a consent's document as seen by a scope.
fn read(lake: &Lake, snapshot: &Arc<Snapshot>, scope: &Arc<Scope>, consent: u32) -> Option<Vec<u8>> {
    let found = lake.attachment(snapshot, scope, &id(lake, consent)).unwrap()?;
    Some(bytes(&found))
}

fn bytes(found: &Attached) -> Vec<u8> {
    let content = found.content.as_ref().unwrap();
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < content.bytes() {
        bytes.extend(content.piece(bytes.len() as u64..content.bytes()).unwrap());
    }
    bytes
}

pub(crate) fn own(lake: &Lake, consent: u32) -> Option<Vec<u8>> {
    read(lake, &lake.snapshot(), &scope(lake, consent), consent)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let files = files_below(folder).into_iter();
    files
        .filter(|path| path.to_string_lossy().ends_with(".attachment"))
        .collect()
}

fn erase(lake: &Lake, consent: u32) -> Erased {
    let synced = synced(lake, consent);
    let patient = PatientScope {
        patients: Vec::new(),
        owners: vec![synced.owner],
        authorizations: vec![synced.authorization],
    };
    lake.writer().unwrap().erase(Mode::Live, "app", &patient).unwrap()
}

fn with_two() -> Fixture {
    let it = fixture();
    bring(&it.lake, 1, b"of the first");
    bring(&it.lake, 2, b"of the second");
    it
}

#[test]
fn an_attachment_is_read_by_who_sees_its_row() {
    let it = with_two();
    assert_eq!(own(&it.lake, 1).unwrap(), b"of the first");
    assert_eq!(own(&it.lake, 2).unwrap(), b"of the second");
    let snapshot = it.lake.snapshot();
    assert_eq!(
        read(&it.lake, &snapshot, &of_application("app"), 1).unwrap(),
        b"of the first"
    );
    for stranger in [scope(&it.lake, 2), scope(&it.lake, 3), of_application("other")] {
        assert!(read(&it.lake, &snapshot, &stranger, 1).is_none());
    }
    let test = Arc::new(Scope {
        mode: Mode::Test,
        ..Scope::clone(&scope(&it.lake, 1))
    });
    assert!(read(&it.lake, &snapshot, &test, 1).is_none());
    // Each file belongs to one owner, and its name reveals nothing about them.
    let files = files(it.dir.path());
    assert_eq!(files.len(), 2);
    for file in &files {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_newer_one_takes_its_place_and_the_older_snapshot_keeps_its_own() {
    let it = with_two();
    let old = it.lake.snapshot();
    bring(&it.lake, 1, b"another");
    assert_eq!(own(&it.lake, 1).unwrap(), b"another");
    assert_eq!(read(&it.lake, &old, &scope(&it.lake, 1), 1).unwrap(), b"of the first");
    let held = it
        .lake
        .attachment(&old, &scope(&it.lake, 1), &id(&it.lake, 1))
        .unwrap()
        .unwrap();
    let number = old.id;
    drop(old);
    it.clock.advance(Duration::from_secs(2 * 3600));
    let mut writer = it.lake.writer().unwrap();
    compact::run(&mut writer, &CompactOptions::new(Effort::Thorough), |_, _, _| {}).unwrap();
    writer.expire().unwrap();
    drop(writer);
    assert!(matches!(it.lake.snapshot_at(number), Err(LakeError::SnapshotGone(_))));
    assert_eq!(
        files(it.dir.path()).len(),
        2,
        "the one that nobody can read any more is gone"
    );
    assert_eq!(bytes(&held), b"of the first", "but not for who has it open");
    assert_eq!(own(&it.lake, 1).unwrap(), b"another");
    assert_eq!(own(&it.lake, 2).unwrap(), b"of the second");
    assert!(check(it.dir.path()).unwrap().is_good());
}

#[test]
fn an_erasure_takes_the_files_of_all_snapshots() {
    let it = with_two();
    let old = it.lake.snapshot();
    bring(&it.lake, 1, b"another of the first");
    let aside = it.dir.path().join("data/.orphans/20231114T000000Z/live/Binary");
    std::fs::create_dir_all(&aside).unwrap();
    // A killed writer leaves files whole or cut off.
    let whole = std::fs::read(&files(it.dir.path())[0]).unwrap();
    for file in files(it.dir.path()) {
        std::fs::copy(&file, aside.join(file.file_name().unwrap())).unwrap();
    }
    std::fs::write(aside.join("half.attachment"), &whole[..5]).unwrap();
    let erased = erase(&it.lake, 1);
    assert_eq!((erased.attachments, erased.left.as_slice()), (2, &[][..]));
    assert!(own(&it.lake, 1).is_none());
    let of_old = it.lake.attachment(&old, &scope(&it.lake, 1), &id(&it.lake, 1));
    assert!(
        !of_old.is_ok_and(|found| found.is_some()),
        "nor in a snapshot from before"
    );
    assert_eq!(own(&it.lake, 2).unwrap(), b"of the second");
    for file in files_below(it.dir.path()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(
            memchr::memmem::find(&bytes, b"of the first").is_none(),
            "{}",
            file.display()
        );
    }
    assert_eq!(
        files(it.dir.path()).len(),
        2,
        "the other's, and what was set aside of it"
    );
    assert!(check(it.dir.path()).unwrap().is_good());
    // The same bytes again make a new attachment.
    bring(&it.lake, 1, b"of the first");
    assert_eq!(own(&it.lake, 1).unwrap(), b"of the first");
}

#[test]
fn a_file_that_no_snapshot_has_is_moved_aside() {
    let it = with_two();
    let files_before = files(it.dir.path());
    let left = files_before[0].with_file_name("00112233445566778899aabbccddeeff.attachment");
    std::fs::copy(&files_before[0], &left).unwrap();
    let report = check(it.dir.path()).unwrap();
    assert_eq!((report.is_good(), report.leftovers), (true, 1));
    // The process has not opened the lake before.
    drop(Lake::open(it.dir.path()).unwrap().writer().unwrap());
    assert!(!left.exists());
    let report = check(it.dir.path()).unwrap();
    assert_eq!((report.is_good(), report.moved_aside), (true, 1));
    assert_eq!(own(&it.lake, 1).unwrap(), b"of the first");
}

#[test]
fn a_check_finds_what_is_wrong_and_a_reader_is_told() {
    let it = with_two();
    let scope = scope(&it.lake, 1);
    let binary = id(&it.lake, 1);
    let files = files(it.dir.path());
    let of_first = |file: &&PathBuf| std::fs::read(file).unwrap().starts_with(b"of the first");
    let file = files.iter().find(of_first).unwrap();
    let whole = std::fs::read(file).unwrap();
    let mut damaged = whole.clone();
    damaged[3] ^= 1;
    type IsFound = fn(&Problem) -> bool;
    let cases: [(Option<&[u8]>, IsFound); 3] = [
        (Some(&damaged), |problem| matches!(problem, Problem::Unreadable(_))),
        (Some(&whole[1..]), |problem| matches!(problem, Problem::Size { .. })),
        (None, |problem| matches!(problem, Problem::Missing)),
    ];
    for (bytes, is_found) in cases {
        match bytes {
            Some(bytes) => std::fs::write(file, bytes).unwrap(),
            None => std::fs::remove_file(file).unwrap(),
        }
        let report = check(it.dir.path()).unwrap();
        assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
        assert!(
            report.findings[0].path == *file && is_found(&report.findings[0].problem),
            "{report:?}"
        );
        let read = it.lake.attachment(&it.lake.snapshot(), &scope, &binary);
        let is_read = read.is_ok_and(|found| {
            let content = found.unwrap().content.unwrap();
            content.verify(&(0..content.bytes())).is_ok()
        });
        assert!(!is_read);
    }
}

#[test]
fn a_new_catalog_takes_attachments_and_a_copy_has_them() {
    let it = with_two();
    bring(&it.lake, 1, b"another");
    let copy = tempfile::tempdir().unwrap();
    it.lake.copy_to(copy.path()).unwrap();
    let copied = Lake::open(copy.path()).unwrap();
    assert_eq!(own(&copied, 1).unwrap(), b"another");
    drop(copied);
    for name in ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"] {
        let _ = std::fs::remove_file(copy.path().join(name));
    }
    std::fs::copy(it.dir.path().join("catalog.mark"), copy.path().join("catalog.mark")).unwrap();
    let adopted = adopt(copy.path()).unwrap();
    assert_eq!((adopted.attachments, adopted.unfit.as_slice()), (2, &[][..]));
    let lake = Lake::open(copy.path()).unwrap();
    assert_eq!(own(&lake, 1).unwrap(), b"another");
    assert_eq!(own(&lake, 2).unwrap(), b"of the second");
    assert!(check(copy.path()).unwrap().is_good());
    // No snapshot of the new catalog needs the older one.
    let in_place = files(copy.path())
        .into_iter()
        .filter(|path| !path.to_string_lossy().contains(".orphans"));
    assert_eq!(in_place.count(), 2);
    assert_eq!(erase(&lake, 1).attachments, 1);
    assert!(own(&lake, 1).is_none());
    for file in files(copy.path()) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(
            !bytes.starts_with(b"another") && !bytes.starts_with(b"of the first"),
            "{}",
            file.display()
        );
    }
}

#[test]
fn the_first_attachment_raises_the_version_of_the_catalog() {
    let layout = |folder: &Path| -> String {
        let catalog = rusqlite::Connection::open(folder.join("catalog.sqlite")).unwrap();
        let sql = "SELECT value FROM ducklake_metadata WHERE key = 'tabularium_layout_version'";
        catalog.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let it = fixture();
    assert_eq!(layout(it.dir.path()), "4", "a lake without attachments is as it was");
    bring(&it.lake, 1, b"the first ever");
    assert_eq!(
        layout(it.dir.path()),
        "5",
        "earlier programs are not to take the file for an orphan"
    );
    let again = Lake::open(it.dir.path()).unwrap();
    assert_eq!(own(&again, 1).unwrap(), b"the first ever");
    drop(again.writer().unwrap());
    assert_eq!(own(&again, 1).unwrap(), b"the first ever");
}

/// A check also compares rows and files with each other.
#[test]
fn a_check_finds_rows_without_files_and_files_without_rows() {
    let it = with_two();
    let catalog = it.dir.path().join("catalog.sqlite");
    let found = |sql: &str| -> Vec<String> {
        let connection = rusqlite::Connection::open(&catalog).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        // A changed catalog does not match its mark, and that would be the only finding. So the mark is removed.
        let _ = std::fs::remove_file(it.dir.path().join("catalog.mark"));
        let findings = check(it.dir.path()).unwrap().findings.into_iter();
        findings.map(|finding| finding.problem.to_string()).collect()
    };
    assert_eq!(found(""), [""; 0]);
    let expected = "has 1 rows whose attachments are not in the catalog";
    let other = found("UPDATE tabularium_attachment SET binary_id = 'x' WHERE authorization = 'a1'");
    for expected in [expected, "is of no row of Binary"] {
        assert!(other.iter().any(|problem| problem == expected), "{other:?}");
    }
    let lost = found("DELETE FROM tabularium_attachment WHERE authorization = 'a1'");
    assert!(lost.iter().any(|problem| problem == expected), "{lost:?}");
}

/// A receipt is signed after the rows are gone. After a new catalog it did not mention what was done.
#[test]
fn a_new_catalog_keeps_what_erasures_have_done() {
    let it = with_two();
    assert_eq!(erase(&it.lake, 1).attachments, 1);
    let intent = Intent {
        mode: Mode::Live,
        application: "app".to_owned(),
        patient: PatientScope {
            patients: Vec::new(),
            owners: vec![synced(&it.lake, 1).owner],
            authorizations: vec!["a1".to_owned()],
        },
    };
    let taken = |lake: &Lake| {
        lake.writer()
            .unwrap()
            .evidence(&[(intent.clone(), Vec::new())])
            .unwrap()
    };
    let before = taken(&it.lake);
    assert!(before[0].attachments.len() == 1 && !before[0].files.is_empty());
    adopt(it.dir.path()).unwrap();
    let after = taken(&Lake::open(it.dir.path()).unwrap());
    assert_eq!(after[0].files, before[0].files);
    assert_eq!(after[0].attachments, before[0].attachments);
    assert_eq!(after[0].before, before[0].before);
}

#[test]
fn a_sealed_lake_has_its_attachments_sealed() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("lake.key");
    std::fs::write(&key, "a1".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let options = || LakeOptions {
        kek: KekSource::File(key.clone()),
        sealed: Some(true),
        ..LakeOptions::default()
    };
    let folder = dir.path().join("lake");
    let lake = Lake::create_with(&folder, options()).unwrap();
    let first = b"of the first ".repeat(20_000);
    bring(&lake, 1, &first);
    bring(&lake, 2, b"of the second");
    assert_eq!(own(&lake, 1).unwrap(), first);
    assert_eq!(own(&lake, 2).unwrap(), b"of the second");
    let check = || check_with(&folder, Depth::Rows, &options().kek).unwrap();
    assert!(check().is_good(), "{:?}", check());
    let stored = files(&folder);
    assert_eq!(stored.len(), 2);
    for path in files_below(&folder) {
        let bytes = std::fs::read(&path).unwrap();
        let is_clear = bytes
            .windows(10)
            .any(|part| part == b"of the fir" || part == b"of the sec");
        assert!(!is_clear, "{}", path.display());
    }
    // A copy of the folder from before the erasure, with its keys.
    let copies: Vec<(PathBuf, Vec<u8>)> = stored
        .iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    assert_eq!(erase(&lake, 1).attachments, 1);
    assert!(own(&lake, 1).is_none());
    assert_eq!(own(&lake, 2).unwrap(), b"of the second");
    let left = files(&folder);
    assert_eq!(left.len(), 1);
    assert!(check().is_good(), "{:?}", check());
    // The file that was copied before needs a key that was destroyed.
    let (gone, _) = copies.iter().find(|(path, _)| !left.contains(path)).unwrap();
    let name = gone.file_stem().unwrap().to_string_lossy().into_owned();
    let id: KeyId = name.rsplit('-').next().unwrap().parse().unwrap();
    let keys = KeyStore::open(&folder, options().kek.load().unwrap()).unwrap();
    assert!(matches!(keys.key(&id), Err(SealError::UnknownKey { .. })));
    drop(lake);
    let again = Lake::open_with(&folder, options()).unwrap();
    assert_eq!(own(&again, 2).unwrap(), b"of the second");
}
