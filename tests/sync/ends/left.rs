//! A receipt is signed only if nothing is left: no kept file with the person's rows, and no key of an erased file.

use tabularium::consent::Actor;
use tabularium::lake::Mode;
use tabularium::lake::seal::KeyStore;
use tabularium::sync::carry_out_erasures;

use super::super::world::{Connected, World};
use crate::harness::lake::files_below;

/// Whether the erasure of a consent's records has a receipt.
fn has_receipt(world: &World, connected: &Connected) -> bool {
    let jobs = world.store().erasure_jobs().list(Some(&connected.consent), 9).unwrap();
    assert_eq!(jobs.len(), 1);
    jobs[0].receipt.is_some()
}

/// Carries erasures out. Returns the numbers of completed and of remaining ones.
fn carry_out(world: &World) -> (usize, usize) {
    let came = carry_out_erasures(world.store(), world.lake(), 0, &world.rules()).unwrap();
    (came.done, came.left)
}

fn revoke(world: &World, connected: &Connected) {
    let revoked = world.store().consents().revoke(&connected.consent, Actor::Application);
    assert_eq!(revoked.unwrap(), 1);
}

/// `check --adopt` had kept a file with the person's rows. The service took the erasure for done, and its receipt said
/// that nothing was found.
#[test]
fn a_kept_file_keeps_the_receipt_from_being_signed() {
    let world = World::working(2);
    let (gone, other) = (world.synced("lakeshore", 0), world.synced("lakeshore", 1));
    world.rest();
    let data = world.server.folder().join("data");
    let has = |path: &std::path::PathBuf, id: &str| {
        memchr::memmem::find(&std::fs::read(path).unwrap(), id.as_bytes()).is_some()
    };
    let file = files_below(&data)
        .into_iter()
        .find(|path| has(path, &gone.patient) && !has(path, &other.patient));
    let kept = world
        .server
        .folder()
        .join("data.damaged-20260101T000000000000Z/live/Patient");
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::copy(file.unwrap(), kept.join("kept.parquet")).unwrap();
    revoke(&world, &gone);
    revoke(&world, &other);
    // A second attempt finds it again, although the lake has no rows of the person any more.
    assert_eq!(carry_out(&world), (1, 1));
    assert_eq!(carry_out(&world), (0, 1));
    assert!(world.rows(&gone).is_empty() && !has_receipt(&world, &gone) && has_receipt(&world, &other));
    std::fs::remove_dir_all(world.server.folder().join("data.damaged-20260101T000000000000Z")).unwrap();
    assert_eq!(carry_out(&world), (1, 0));
    assert!(has_receipt(&world, &gone));
}

/// The keys of a sealed lake could not be changed, so older copies of the files stayed readable. The receipt was signed
/// all the same.
#[test]
fn keys_that_are_left_keep_the_receipt_from_being_signed() {
    let world = World::sealed(1);
    world.work();
    let gone = world.synced("lakeshore", 0);
    world.rest();
    let keys = rusqlite::Connection::open(world.server.folder().join("keys.sqlite")).unwrap();
    // This acts like a read-only file. Tests may run as the superuser, who can write any file.
    keys.execute_batch("CREATE TRIGGER stays BEFORE DELETE ON file_key BEGIN SELECT RAISE(ABORT, 'read-only'); END")
        .unwrap();
    revoke(&world, &gone);
    assert_eq!(carry_out(&world), (0, 1));
    assert_eq!(carry_out(&world), (0, 1));
    assert!(world.rows(&gone).is_empty() && !has_receipt(&world, &gone));
    keys.execute_batch("DROP TRIGGER stays").unwrap();
    assert_eq!(carry_out(&world), (1, 0));
    assert!(has_receipt(&world, &gone));
}

/// An operator's copy of the keys opened older copies of the erased files, and the receipt was signed.
#[test]
fn a_copy_of_the_keys_that_is_away_keeps_the_receipt_from_being_signed() {
    let world = World::sealed(1);
    world.work();
    let gone = world.synced("lakeshore", 0);
    world.rest();
    let safe = tempfile::tempdir().unwrap();
    let copy = safe.path().canonicalize().unwrap().join("keys.copy");
    assert!(world.lake().writer().unwrap().copy_keys(&copy).unwrap() > 0);
    let away = copy.with_extension("away");
    std::fs::rename(&copy, &away).unwrap();
    revoke(&world, &gone);
    assert_eq!(carry_out(&world), (0, 1));
    assert_eq!(carry_out(&world), (0, 1));
    assert!(world.rows(&gone).is_empty() && !has_receipt(&world, &gone));
    std::fs::rename(&away, &copy).unwrap();
    assert_eq!(carry_out(&world), (1, 0));
    assert!(has_receipt(&world, &gone));
    let kek = || crate::harness::kind::kek().load().unwrap();
    let copied = KeyStore::open_file(copy, kek()).unwrap();
    let own = KeyStore::open(world.server.folder(), kek()).unwrap();
    assert_eq!(copied.ids().unwrap(), own.ids().unwrap());
}

/// The store's log holds what was removed from the store while another program reads it.
#[test]
fn a_receipt_waits_for_readers_of_the_store() {
    let world = World::new(1, Mode::Live);
    world.work();
    let gone = world.synced("lakeshore", 0);
    world.rest();
    let reader = rusqlite::Connection::open(world.server.folder().join("service.sqlite")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM consent;").unwrap();
    revoke(&world, &gone);
    assert_eq!(carry_out(&world), (1, 0));
    assert!(!has_receipt(&world, &gone));
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(carry_out(&world), (0, 0));
    assert!(has_receipt(&world, &gone));
}
