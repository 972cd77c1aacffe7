//! A backup from before a consent's end: a lake restored from it has neither the rows nor the access.

use std::path::{Path, PathBuf};

use tabularium::consent::{Actor, AuthorizationState, Clock, Store};
use tabularium::sync::carry_out_erasures;

use super::super::world::{Connected, World};
use crate::backup::{is_good, program, succeeds};
use crate::harness::lake::files_below;

fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| memchr::memmem::find(&std::fs::read(path).unwrap(), text.as_bytes()).is_some();
    files_below(folder).into_iter().filter(holds).collect()
}

#[test]
fn what_was_revoked_since_a_backup_stays_revoked() {
    let world = World::working(2);
    let people: Vec<Connected> = (0..2).map(|person| world.synced("lakeshore", person)).collect();
    world.rest();
    let scratch = tempfile::tempdir().unwrap();
    let (to, restored) = (scratch.path().join("backups"), scratch.path().join("restored"));
    let data = world.server.folder().to_str().unwrap().to_owned();
    let ledger = format!("{data}.erasures");
    let backup = ["backup", "--data", &data, "--to", to.to_str().unwrap()];
    succeeds(&program(backup));
    world
        .store()
        .consents()
        .revoke(&people[0].consent, Actor::Application)
        .unwrap();
    carry_out_erasures(world.store(), world.lake(), 0, &world.rules()).unwrap();
    let arguments = [
        "restore",
        "--from",
        to.to_str().unwrap(),
        "--data",
        restored.to_str().unwrap(),
    ];
    let said = succeeds(&program(arguments.iter().chain(&["--erasures", &ledger])));
    assert!(said.contains("erased again what was erased since"), "{said}");
    is_good(&restored);

    let store = Store::open(&restored, Clock::System).unwrap();
    let state = |connected: &Connected| {
        store
            .authorizations()
            .get(&connected.authorization)
            .unwrap()
            .unwrap()
            .state
    };
    let (gone, stays) = (&people[0], &people[1]);
    assert!(
        matches!(state(gone), AuthorizationState::Revoked | AuthorizationState::Expired),
        "{:?}",
        state(gone)
    );
    assert_eq!(state(stays), AuthorizationState::Exchanged);
    assert_eq!(store.credentials().get(&gone.authorization).unwrap(), None);
    assert!(store.credentials().get(&stays.authorization).unwrap().is_some());
    assert!(store.erasures().open(0, 1).unwrap().is_empty(), "nothing is left to do");
    let table = restored.join("data");
    assert_eq!(files_with(&table, &gone.patient), Vec::<PathBuf>::new());
    assert!(!files_with(&table, &stays.patient).is_empty());

    // The next backup removes the rows from the first one.
    assert!(!files_with(&to, &gone.patient).is_empty());
    succeeds(&program(backup));
    let tables: Vec<PathBuf> = files_with(&to, &gone.patient);
    let is_table = |path: &&PathBuf| std::fs::read(path).unwrap().starts_with(b"PAR1");
    assert_eq!(tables.iter().filter(is_table).count(), 0);
    std::fs::remove_file(ledger).unwrap();
}
