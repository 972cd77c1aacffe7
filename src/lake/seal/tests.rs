//! Tests with real databases: wrong keys, damage, several processes, and the remains of destroyed keys.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;

use super::database::store::FILE;
use super::*;

/// The environment variable that tells a test process that it is the second one, and which folder to use.
const OTHER: &str = "TABULARIUM_TEST_KEYS";
/// The number of keys that the second process stores.
const OTHERS: usize = 10;

fn kek() -> Kek {
    Kek::parse(&"a1".repeat(32)).unwrap()
}

fn new_kek() -> Kek {
    Kek::parse(&"b2".repeat(32)).unwrap()
}

fn made(folder: &Path, count: usize) -> (KeyStore, Vec<FileKey>) {
    let store = KeyStore::create(folder, kek()).unwrap();
    let keys: Vec<FileKey> = (0..count).map(|_| store.make().unwrap()).collect();
    for some in keys.chunks(500) {
        store.keep(some).unwrap();
    }
    (store, keys)
}

fn opened(folder: &Path, kek: Kek) -> Result<KeyStore, String> {
    KeyStore::open(folder, kek).map_err(|error| error.to_string())
}

fn all_open(store: &KeyStore, keys: &[FileKey]) {
    for key in keys {
        assert!(store.key(&key.id()).unwrap() == *key);
    }
}

/// Returns the wrapped texts that a query of the database yields.
fn wrapped(folder: &Path, sql: &str) -> Vec<Vec<u8>> {
    let connection = Connection::open(folder.join(FILE)).unwrap();
    let mut rows = connection.prepare(sql).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Returns how many of the texts have remains in the database's file, and how many have remains in its journal. A text
/// has remains in a file that contains 12 successive bytes of it.
fn left(folder: &Path, texts: &[Vec<u8>]) -> (usize, usize) {
    let found = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).unwrap_or_default();
        let is_there = |text: &&Vec<u8>| {
            let mut parts = text[1..].chunks_exact(12);
            parts.any(|part| memchr::memmem::find(&bytes, part).is_some())
        };
        texts.iter().filter(is_there).count()
    };
    (found(FILE), found("keys.sqlite-journal"))
}

#[test]
fn keys_come_back_by_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = made(folder.path(), 3);
    let unkept = store.make().unwrap();
    assert!(matches!(store.key(&unkept.id()), Err(SealError::UnknownKey { .. })));
    all_open(&store, &keys);
    store.keep(&keys).unwrap();
    drop(store);
    let store = KeyStore::open(folder.path(), kek()).unwrap();
    all_open(&store, &keys);
    let mut ids: Vec<KeyId> = keys.iter().map(FileKey::id).collect();
    ids.sort();
    assert_eq!(store.ids().unwrap(), ids);
    let keys_of = Keys::of(store);
    assert!(keys_of.seals() && keys_of.key(&ids[0]).is_ok() && keys_of.make().unwrap().is_some());
}

#[test]
fn an_open_lake_has_no_keys() {
    let (keys, folder) = (Keys::none(), tempfile::tempdir().unwrap());
    assert!(!keys.seals() && keys.make().unwrap().is_none() && keys.ids().unwrap().is_empty());
    let (_store, kept) = made(folder.path(), 1);
    let refused = keys.key(&kept[0].id()).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!(
            "a file is sealed with the key {}, and the lake was opened without keys",
            kept[0].id()
        )
    );
}

#[test]
fn only_its_owner_may_read_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, _) = made(folder.path(), 1);
    let entries = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    let mut names = Vec::new();
    for entry in entries {
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{entry:?}"
        );
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, [FILE, "keys.sqlite-journal"]);
    let again = KeyStore::create(folder.path(), kek()).unwrap_err().to_string();
    assert!(again.ends_with("keys.sqlite is there already"), "{again}");
}

#[test]
fn what_is_wrong_with_a_database_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    let shown = path.display();
    let missing = opened(folder.path(), kek()).unwrap_err();
    assert!(
        missing.starts_with(&format!("{shown} is missing, without which no file")),
        "{missing}"
    );
    drop(made(folder.path(), 1));
    let wrong = opened(folder.path(), new_kek()).unwrap_err();
    assert_eq!(wrong, format!("the key-encryption key given is not the one of {shown}"));
    for text in ["", "no database, but a text that somebody has put here"] {
        std::fs::write(&path, text).unwrap();
        let damaged = opened(folder.path(), kek()).unwrap_err();
        assert!(
            damaged.starts_with(&format!("the keys database {shown} is damaged: ")),
            "{damaged}"
        );
    }
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE other (one)")
        .unwrap();
    let other = opened(folder.path(), kek()).unwrap_err();
    assert!(other.contains("it is no keys database"), "{other}");
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 3)
        .unwrap();
    let newer = opened(folder.path(), kek()).unwrap_err();
    assert_eq!(
        newer,
        format!("the keys database {shown} has the layout 3, this program reads 2")
    );
}

#[test]
fn a_database_that_was_cut_off_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(made(folder.path(), 300));
    let path = folder.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    assert!(whole.len() > 8 * 4096, "several pages");
    let ends = (0..whole.len())
        .step_by(4096)
        .flat_map(|page| [page, page + 90, page + 2_000]);
    for end in ends.chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..end]).unwrap();
        let damaged = opened(folder.path(), kek()).unwrap_err();
        assert!(damaged.contains("is damaged: "), "{end}: {damaged}");
    }
    std::fs::write(&path, &whole).unwrap();
    opened(folder.path(), kek()).unwrap();
}

#[test]
fn a_key_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = made(folder.path(), 2);
    drop(store);
    let wrapped = wrapped(folder.path(), "SELECT wrapped FROM file_key ORDER BY number");
    let path = folder.path().join(FILE);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = memchr::memmem::find(&bytes, &wrapped[0]).unwrap();
    bytes[at + 20] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let store = KeyStore::open(folder.path(), kek()).unwrap();
    assert!(matches!(store.key(&keys[0].id()), Err(SealError::Damaged { .. })));
    all_open(&store, &keys[1..]);
}

#[test]
fn nothing_is_left_of_a_destroyed_key() {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = made(folder.path(), 600);
    let all = wrapped(folder.path(), "SELECT wrapped FROM file_key ORDER BY number");
    assert_eq!(left(folder.path(), &all).0, 600);
    let is_gone = |at: &usize| at.is_multiple_of(7) || (200..300).contains(at);
    let (gone, kept): (Vec<usize>, Vec<usize>) = (0..keys.len()).partition(is_gone);
    let ids: Vec<KeyId> = gone.iter().map(|at| keys[*at].id()).collect();
    let texts: Vec<Vec<u8>> = gone.iter().map(|at| all[*at].clone()).collect();
    store.destroy(&ids).unwrap();
    assert_eq!(left(folder.path(), &texts), (0, 0));
    for id in &ids {
        assert!(matches!(store.key(id), Err(SealError::UnknownKey { .. })));
    }
    let rest: Vec<FileKey> = kept.iter().map(|at| keys[*at].clone()).collect();
    all_open(&KeyStore::open(folder.path(), kek()).unwrap(), &rest);
    store.destroy(&ids).unwrap();
}

#[test]
fn an_interrupted_destruction_is_finished_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = made(folder.path(), 200);
    let gone = wrapped(folder.path(), "SELECT wrapped FROM file_key WHERE number <= 100");
    // Do what the transaction of a destruction does, as if the process was killed right after it.
    let other = super::database::store::connect(&folder.path().join(FILE)).unwrap();
    other
        .execute_batch("BEGIN; DELETE FROM file_key WHERE number <= 100; INSERT INTO unscrubbed VALUES (1); COMMIT;")
        .unwrap();
    drop(other);
    assert!(
        left(folder.path(), &gone).1 > 0,
        "the journal has the pages as they were"
    );
    store.destroy(&[]).unwrap();
    assert_eq!(left(folder.path(), &gone), (0, 0));
    all_open(&store, &keys[100..]);
}

#[test]
fn what_another_process_destroyed_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let (store, keys) = made(folder.path(), 2);
    store.refresh().unwrap();
    all_open(&store, &keys);
    store.refresh().unwrap();
    KeyStore::open(folder.path(), kek())
        .unwrap()
        .destroy(&[keys[0].id()])
        .unwrap();
    store.refresh().unwrap();
    assert!(matches!(store.key(&keys[0].id()), Err(SealError::UnknownKey { .. })));
    all_open(&store, &keys[1..]);
}

#[test]
fn processes_share_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let (store, first) = made(folder.path(), 1);
    let name = "lake::seal::tests::the_other_process";
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(OTHER, folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut own = Vec::new();
    // SQLite does not grant locks in turn, so both processes stop after a fixed number of keys.
    while own.len() < 24 {
        let key = store.make().unwrap();
        store.keep(std::slice::from_ref(&key)).unwrap();
        own.push(key);
        if own.len() % 4 == 0 {
            let gone = store.make().unwrap();
            store.keep(std::slice::from_ref(&gone)).unwrap();
            store.destroy(&[gone.id()]).unwrap();
        }
    }
    assert!(other.wait().unwrap().success());
    let ids = store.ids().unwrap();
    assert_eq!(ids.len(), first.len() + own.len() + OTHERS);
    for id in &ids {
        assert_eq!(store.key(id).unwrap().id(), *id);
    }
    all_open(&KeyStore::open(folder.path(), kek()).unwrap(), &own);
}

/// The second process of [`processes_share_one_database`]. Does nothing if it runs alone.
#[test]
fn the_other_process() {
    let Some(folder) = std::env::var_os(OTHER) else {
        return;
    };
    let store = KeyStore::open(Path::new(&folder), kek()).unwrap();
    for _ in 0..OTHERS {
        let key = store.make().unwrap();
        store.keep(std::slice::from_ref(&key)).unwrap();
        let again = KeyStore::open(Path::new(&folder), kek()).unwrap();
        assert!(again.key(&key.id()).unwrap() == key);
    }
}

#[test]
fn both_key_encryption_keys_are_taken_until_a_rotation_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (old, mut keys) = made(folder.path(), 2_500);
    let before = wrapped(folder.path(), "SELECT wrapped FROM file_key");
    let rotated = KeyStore::rotate(folder.path(), &kek(), &new_kek(), true).unwrap();
    assert_eq!(
        rotated,
        Rotated {
            keys: 2_500,
            accepts_earlier: true
        }
    );
    let new = KeyStore::open(folder.path(), new_kek()).unwrap();
    // Each of the two stores finds the keys that the other one stores.
    for store in [&old, &new] {
        let key = store.make().unwrap();
        store.keep(std::slice::from_ref(&key)).unwrap();
        keys.push(key);
    }
    all_open(&old, &keys);
    all_open(&new, &keys);
    all_open(&KeyStore::open(folder.path(), kek()).unwrap(), &keys);
    let third = Kek::random().unwrap();
    let refused = KeyStore::rotate(folder.path(), &new_kek(), &third, false).unwrap_err();
    assert!(matches!(refused, SealError::Rotating(_)), "{refused}");

    let rotated = KeyStore::rotate(folder.path(), &kek(), &new_kek(), false).unwrap();
    assert_eq!(
        rotated,
        Rotated {
            keys: 2_502,
            accepts_earlier: false
        }
    );
    assert_eq!(left(folder.path(), &before), (0, 0), "what the earlier key wrapped");
    all_open(&new, &keys);
    all_open(&KeyStore::open(folder.path(), new_kek()).unwrap(), &keys);
    assert!(matches!(
        KeyStore::open(folder.path(), kek()),
        Err(SealError::WrongKek(_))
    ));
    let key = old.make().unwrap();
    assert!(matches!(old.keep(&[key]), Err(SealError::Rotated(_))));
    old.refresh().unwrap();
    assert!(matches!(old.key(&keys[0].id()), Err(SealError::Rotated(_))));
    // The same rotation may be requested again, and another one may follow.
    assert_eq!(
        KeyStore::rotate(folder.path(), &kek(), &new_kek(), false).unwrap(),
        rotated
    );
    KeyStore::rotate(folder.path(), &new_kek(), &third, false).unwrap();
    all_open(&KeyStore::open(folder.path(), third).unwrap(), &keys);
}

#[test]
fn a_rotation_needs_the_key_in_use_and_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let (_store, keys) = made(folder.path(), 1);
    let third = Kek::random().unwrap();
    let wrong = KeyStore::rotate(folder.path(), &third, &new_kek(), false).unwrap_err();
    assert!(matches!(wrong, SealError::WrongKek(_)), "{wrong}");
    let same = KeyStore::rotate(folder.path(), &kek(), &kek(), false)
        .unwrap_err()
        .to_string();
    assert_eq!(same, "the key-encryption key to rotate to is the one in use");
    all_open(&KeyStore::open(folder.path(), kek()).unwrap(), &keys);
}

/// A server makes a key for each file of a sync. The keys of failed syncs must not stay in memory until the server
/// ends.
#[test]
fn a_key_is_known_as_long_as_somebody_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = made(folder.path(), 1);
    let keys = Keys::of(store);
    let (kept, given_up) = (keys.make().unwrap().unwrap(), keys.make().unwrap().unwrap());
    assert!(
        keys.key(&given_up.id()).unwrap() == given_up,
        "a file is read before its commit"
    );
    let id = given_up.id();
    drop(given_up);
    assert!(matches!(keys.key(&id), Err(SealError::UnknownKey { .. })));
    assert_eq!(keys.held(), 1);
    keys.keep(std::slice::from_ref(&kept)).unwrap();
    let id = kept.id();
    drop(kept);
    let held = keys.hold(&id).unwrap();
    // A destroyed key stays available to a running answer that holds it.
    keys.destroy(&[id]).unwrap();
    assert!(keys.key(&id).unwrap() == held);
    drop(held);
    assert!(matches!(keys.key(&id), Err(SealError::UnknownKey { .. })));
    assert_eq!(keys.held(), 0);
}

#[test]
fn a_copy_has_the_keys_that_are_asked_for_and_no_trace_of_others() {
    let (folder, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, keys) = made(folder.path(), 300);
    let all = wrapped(folder.path(), "SELECT wrapped FROM file_key ORDER BY number");
    let ids: Vec<KeyId> = keys[..100].iter().map(FileKey::id).collect();
    store.copy_to(to.path(), Some(&ids)).unwrap();
    assert_eq!(left(to.path(), &all[100..]), (0, 0));
    let copy = KeyStore::open(to.path(), kek()).unwrap();
    all_open(&copy, &keys[..100]);
    assert!(matches!(copy.key(&keys[100].id()), Err(SealError::UnknownKey { .. })));
    all_open(&store, &keys);
    assert!(matches!(store.copy_to(to.path(), None), Err(SealError::Exists(_))));
    let whole = tempfile::tempdir().unwrap();
    store.copy_to(whole.path(), None).unwrap();
    all_open(&KeyStore::open(whole.path(), kek()).unwrap(), &keys);
}

/// If the database is a link, SQLite puts the journal beside the link's target. The journal has the destroyed keys, so
/// it must be overwritten there.
#[test]
fn nothing_is_left_of_a_destroyed_key_where_the_database_is_a_link() {
    let (folder, volume) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, keys) = made(volume.path(), 20);
    drop(store);
    std::os::unix::fs::symlink(volume.path().join(FILE), folder.path().join(FILE)).unwrap();
    let store = KeyStore::open(folder.path(), kek()).unwrap();
    let all = wrapped(folder.path(), "SELECT wrapped FROM file_key ORDER BY number");
    let ids: Vec<KeyId> = keys[..10].iter().map(FileKey::id).collect();
    store.destroy(&ids).unwrap();
    assert_eq!(left(volume.path(), &all[..10]), (0, 0));
    all_open(&store, &keys[10..]);
    drop(store);
    KeyStore::rotate(folder.path(), &kek(), &new_kek(), false).unwrap();
    assert_eq!(left(volume.path(), &all), (0, 0));
    remove_database(folder.path()).unwrap();
    for folder in [&folder, &volume] {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn nothing_is_left_of_a_database_that_was_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = made(folder.path(), 20);
    // An interrupted creation leaves a second name of the same file.
    std::fs::hard_link(folder.path().join(FILE), folder.path().join("keys.sqlite.new")).unwrap();
    let elsewhere = tempfile::tempdir_in(folder.path().parent().unwrap()).unwrap();
    let other = elsewhere.path().join("link");
    std::fs::hard_link(folder.path().join(FILE), &other).unwrap();
    drop(store);
    remove_database(folder.path()).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(
        std::fs::read(&other).unwrap(),
        b"",
        "its bytes are gone, not only its name"
    );
    remove_database(folder.path()).unwrap();
}
