use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::lake::erase::Erasure;
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::{Mode, PatientScope, Scope};

fn erasure(id: u64, patients: &[&str], authorizations: &[&str]) -> Arc<Erasure> {
    let list = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
    Arc::new(Erasure {
        id,
        scope: Arc::new(Scope {
            mode: Mode::Live,
            application: "local".into(),
            patient: Some(Arc::new(PatientScope {
                patients: list(patients),
                owners: vec![7, 8],
                authorizations: list(authorizations),
            })),
        }),
        first_file: 1,
    })
}

fn for_backup(dir: &Path, key: OwnerKey, known: Option<&Entered>) -> Result<enter::ForBackup, LakeError> {
    let (path, known, pending) = (place(dir), known.cloned(), Vec::new());
    enter::relied_on(
        &path,
        read::read_lines(&path)?,
        &enter::Recorded { key, known, pending },
    )
}

fn has(since: &ErasedSince, owner: i64, whose: Whose<'_>) -> bool {
    since.has(Mode::Live, "local", owner, whose)
}

#[test]
fn what_is_entered_is_known_again_and_stands_nowhere_in_clear() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
    let path = place(&dir);
    enter(&dir, key, None, &[erasure(1, &["nobody"], &[])], 0).unwrap();
    assert!(!path.exists(), "no backup was made yet");
    let empty = Ledger::read_or_create(&path).unwrap();
    let first = [
        erasure(5, &["ann-of-athlone"], &[]),
        erasure(6, &[], &["auth-one", "auth-two"]),
    ];
    enter(&dir, key, None, &first, 1_700_000_000_000_000).unwrap();
    enter(&dir, key, None, &first, 1_800_000_000_000_000).unwrap();
    let ledger = Ledger::read(&path).unwrap().unwrap();
    assert_eq!(ledger.lines.entries.len(), 2, "each once");
    assert!(ledger.goes_on_from(&empty.state()) && !empty.goes_on_from(&ledger.state()));
    let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
    assert!(!text.contains("ann-of") && !text.contains("auth-"), "{text}");

    let since = ledger.since(key, 4);
    assert_eq!(since.newest(), 6);
    assert!(has(&since, 7, Whose::Patient("ann-of-athlone")) && has(&since, 8, Whose::Authorization("auth-two")));
    assert!(
        !has(&since, 9, Whose::Patient("ann-of-athlone")) && !has(&since, 7, Whose::Authorization("ann-of-athlone"))
    );
    assert!(!since.has(Mode::Test, "local", 7, Whose::Patient("ann-of-athlone")));
    assert!(!since.has(Mode::Live, "other", 7, Whose::Patient("ann-of-athlone")));
    let later = ledger.since(key, 5);
    assert!(!has(&later, 7, Whose::Patient("ann-of-athlone")) && has(&later, 7, Whose::Authorization("auth-one")));
    let other = ledger.since(OwnerKey::random(), 0);
    assert!(other.is_empty() && other.newest() == 0, "of another lake");
}

/// Two copies of a lake give the same number to different erasures. A ledger that they share must get both. Each copy
/// must lose what was erased from the other one before an erasure ends.
#[test]
fn an_erasure_of_a_copy_with_the_same_number_is_entered_too() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
    let path = place(&dir);
    Ledger::read_or_create(&path).unwrap();
    enter(&dir, key, None, &[erasure(3, &["a"], &[])], 0).unwrap();
    for patient in ["b", "a"] {
        let older = enter(&dir, key, None, &[erasure(3, &[patient], &[])], 0);
        assert!(matches!(older, Err(LakeError::Older { missed: 1, .. })), "{older:?}");
    }
    let ledger = Ledger::read(&path).unwrap().unwrap();
    assert_eq!(ledger.lines.entries.len(), 2);
    let since = ledger.since(key, 2);
    assert!(has(&since, 7, Whose::Patient("a")) && has(&since, 7, Whose::Patient("b")));
}

fn read(dir: &Path) -> Ledger {
    Ledger::read(&place(dir)).unwrap().unwrap()
}

fn message(refused: Result<impl std::fmt::Debug, LakeError>) -> String {
    refused.unwrap_err().to_string()
}

/// If backups rely on a ledger, erasures must not be entered in another one, for example after the lake was moved.
#[test]
fn erasures_are_entered_in_the_ledger_of_the_backups_or_not_at_all() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
    let one = [erasure(1, &["a"], &[])];
    let other = Entered {
        ledger: "x".to_owned(),
        entries: 0,
        sum: String::new(),
    };
    let refused = message(enter(&dir, key, Some(&other), &one, 0));
    assert!(
        refused.contains("is missing") && refused.contains("TABULARIUM_ERASURES"),
        "{refused}"
    );
    assert!(!place(&dir).exists());
    let ledger = Ledger::read_or_create(&place(&dir)).unwrap();
    let refused = message(enter(&dir, key, Some(&other), &one, 0));
    assert!(refused.contains("another one"), "{refused}");
    let entered = enter(&dir, key, Some(&ledger.entered(key)), &one, 0).unwrap().unwrap();
    assert_eq!(read(&dir).lines.entries.len(), 1);
    assert_eq!(entered, read(&dir).entered(key));
}

/// Two lakes share a ledger. Each counts its own entries.
#[test]
fn a_ledger_that_lacks_ended_erasures_of_a_lake_is_refused_for_this_lake() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, one, other) = (scratch.path().join("lake"), OwnerKey::random(), OwnerKey::random());
    let path = place(&dir);
    Ledger::read_or_create(&path).unwrap();
    let put = |key: OwnerKey, number: u64| enter(&dir, key, None, &[erasure(number, &["a"], &[])], 0);
    put(one, 1).unwrap();
    let older = std::fs::read(&path).unwrap();
    let of_one = put(one, 3).unwrap().unwrap();
    let of_other = put(other, 1).unwrap().unwrap();
    assert_eq!((of_one.entries, of_other.entries), (2, 1));
    for (key, known) in [(one, &of_one), (other, &of_other)] {
        read(&dir).check_has(key, known).unwrap();
        assert!(for_backup(&dir, key, Some(known)).is_ok_and(|found| !found.is_instead));
    }
    std::fs::write(&path, &older).unwrap();
    for (key, known) in [(one, &of_one), (other, &of_other)] {
        let refused = message(enter(&dir, key, Some(known), &[erasure(9, &["b"], &[])], 0));
        assert!(refused.contains("is older than the lake"), "{refused}");
        assert!(for_backup(&dir, key, Some(known)).is_err());
    }
    assert_eq!(std::fs::read(&path).unwrap(), older, "nothing was written");
    // Another erasure went into the older copy. Its number is the same, its checksum is not.
    put(one, 5).unwrap();
    let refused = message(enter(&dir, one, Some(&of_one), &[erasure(9, &["b"], &[])], 0));
    assert!(refused.contains("is another copy"), "{refused}");
}

#[test]
fn half_a_line_is_written_anew_if_its_erasure_has_not_ended() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
    let path = place(&dir);
    Ledger::read_or_create(&path).unwrap();
    let first = enter(&dir, key, None, &[erasure(1, &["a"], &[])], 0).unwrap().unwrap();
    let (whole, state) = (std::fs::read(&path).unwrap(), read(&dir).state());
    let second = enter(&dir, key, Some(&first), &[erasure(2, &["b"], &[])], 0)
        .unwrap()
        .unwrap();
    let both = std::fs::read(&path).unwrap();
    for end in whole.len() + 1..both.len() {
        std::fs::write(&path, &both[..end]).unwrap();
        assert!(message(Ledger::read(&path)).contains("its last line"), "{end}");
        // The catalog says that the second erasure has ended, so a part of its entry is damage.
        let refused = message(enter(&dir, key, Some(&second), &[erasure(3, &["c"], &[])], 0));
        assert!(refused.contains("is older than the lake"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), &both[..end]);
        let again = enter(&dir, key, Some(&first), &[erasure(2, &["b"], &[])], 0)
            .unwrap()
            .unwrap();
        assert_eq!(again, second);
        let ledger = read(&dir);
        assert!(ledger.lines.entries.len() == 2 && ledger.goes_on_from(&state), "{end}");
        assert!(has(&ledger.since(key, 1), 8, Whose::Patient("b")));
        // A backup mends it, too.
        std::fs::write(&path, &both[..end]).unwrap();
        for_backup(&dir, key, Some(&first)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn half_a_line_of_another_lake_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, one, other) = (scratch.path().join("lake"), OwnerKey::random(), OwnerKey::random());
    let path = place(&dir);
    Ledger::read_or_create(&path).unwrap();
    let known = enter(&dir, one, None, &[erasure(1, &["a"], &[])], 0).unwrap();
    let length = std::fs::read(&path).unwrap().len();
    enter(&dir, other, None, &[erasure(1, &["a"], &[])], 0).unwrap();
    let both = std::fs::read(&path).unwrap();
    for end in [length + 60, both.len() - 1] {
        std::fs::write(&path, &both[..end]).unwrap();
        let refused = message(enter(&dir, one, known.as_ref(), &[erasure(2, &["b"], &[])], 0));
        assert!(refused.contains("its last line"), "{refused}");
        enter(&dir, other, None, &[erasure(1, &["a"], &[])], 0).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), both);
    }
}

/// The lines of a killed writer are completed from its note, wherever it was killed.
#[test]
fn half_a_line_of_any_lake_is_completed_from_the_note() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, one, other) = (scratch.path().join("lake"), OwnerKey::random(), OwnerKey::random());
    let path = place(&dir);
    let entering = path.with_added_extension("entering");
    Ledger::read_or_create(&path).unwrap();
    let known = enter(&dir, one, None, &[erasure(1, &["a"], &[])], 0).unwrap();
    let length = std::fs::read(&path).unwrap().len();
    let two = [erasure(1, &["a"], &[]), erasure(2, &["b"], &[])];
    enter(&dir, other, None, &two, 0).unwrap();
    let both = std::fs::read(&path).unwrap();
    assert!(!entering.exists());
    let lines = &both[length..];
    let head = format!("{{\"entering\":1,\"offset\":{length},\"bytes\":{}}}\n", lines.len());
    let note = [head.as_bytes(), lines].concat();
    for end in length..=both.len() {
        std::fs::write(&path, &both[..end]).unwrap();
        std::fs::write(&entering, &note).unwrap();
        assert_eq!(read(&dir).lines.bytes, both, "{end}");
        assert_eq!(std::fs::read(&path).unwrap().len(), end, "a reader changes nothing");
        enter(&dir, one, known.as_ref(), &[], 0).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), both, "{end}");
    }
    // A part of a note is none: its writer has not changed the ledger.
    for end in 0..note.len() {
        std::fs::write(&path, &both[..length]).unwrap();
        std::fs::write(&entering, &note[..end]).unwrap();
        assert_eq!(read(&dir).lines.bytes.len(), length, "{end}");
    }
    enter(&dir, other, None, &two, 0).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), both);
    assert!(!entering.exists());
}

/// Each bit and each line matters.
#[test]
fn a_changed_or_lost_byte_is_noticed() {
    let scratch = tempfile::tempdir().unwrap();
    let (dir, key) = (scratch.path().join("lake"), OwnerKey::random());
    let path = place(&dir);
    Ledger::read_or_create(&path).unwrap();
    let mut known = None;
    for number in 1..4 {
        known = enter(&dir, key, known.as_ref(), &[erasure(number, &["a", "b"], &[])], 0).unwrap();
    }
    let whole = std::fs::read(&path).unwrap();
    let refuses = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        let read = Ledger::read(&path).and_then(|ledger| {
            let ledger = ledger.unwrap();
            ledger.check_has(key, known.as_ref().unwrap())
        });
        assert!(matches!(read, Err(LakeError::Ledger { .. })), "{what}");
        let entered = enter(&dir, key, known.as_ref(), &[erasure(9, &["c"], &[])], 0);
        assert!(matches!(entered, Err(LakeError::Ledger { .. })), "{what}");
        assert!(for_backup(&dir, key, known.as_ref()).is_err(), "{what}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{what}");
    };
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        refuses(&flipped, &format!("bit {} of byte {at}", at % 8));
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for lost in 0..lines.len() {
        let left: Vec<&[u8]> = (0..lines.len()).filter(|at| *at != lost).map(|at| lines[at]).collect();
        refuses(&left.concat(), &format!("line {lost} lost"));
    }
    refuses(
        &[lines[0], lines[2], lines[1], lines[3]].concat(),
        "two lines exchanged",
    );
    std::fs::write(&path, &whole).unwrap();
    read(&dir).check_has(key, known.as_ref().unwrap()).unwrap();
}

#[test]
fn a_ledger_is_carried_to_another_place_and_not_over_another_one() {
    let scratch = tempfile::tempdir().unwrap();
    let (one, other) = (scratch.path().join("one"), scratch.path().join("other"));
    let key = OwnerKey::random();
    Ledger::read_or_create(&place(&one))
        .unwrap()
        .carry_to(&place(&other))
        .unwrap();
    enter(&one, key, None, &[erasure(1, &["a"], &[])], 0).unwrap();
    let ledger = Ledger::read(&place(&one)).unwrap().unwrap();
    ledger.carry_to(&place(&other)).unwrap();
    ledger.carry_to(&place(&other)).unwrap();
    assert_eq!(Ledger::read(&place(&other)).unwrap().unwrap().state(), ledger.state());
    // A killed process has left half of a line in the copy.
    let whole = std::fs::read(place(&one)).unwrap();
    std::fs::write(place(&other), &whole[..whole.len() - 50]).unwrap();
    ledger.carry_to(&place(&other)).unwrap();
    assert_eq!(std::fs::read(place(&other)).unwrap(), whole);
    let third = scratch.path().join("third");
    Ledger::read_or_create(&place(&third)).unwrap();
    assert!(matches!(ledger.carry_to(&place(&third)), Err(LakeError::Ledger { .. })));
}

#[test]
fn what_is_no_ledger_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("lake");
    for text in ["", "no ledger\n", "{\"layout\":3,\"ledger\":\"x\",\"salt\":\"00\"}\n"] {
        std::fs::write(place(&dir), text).unwrap();
        assert!(
            matches!(Ledger::read(&place(&dir)), Err(LakeError::Ledger { .. })),
            "{text}"
        );
        let entered = enter(&dir, OwnerKey::random(), None, &[erasure(1, &["a"], &[])], 0);
        assert!(matches!(entered, Err(LakeError::Ledger { .. })), "{text}");
    }
}
#[test]
fn a_ledger_of_an_earlier_program_is_refused_by_its_version() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("lake");
    let salt = "00".repeat(32);
    let head = format!("{{\"layout\":1,\"ledger\":\"x\",\"salt\":\"{salt}\"}}\n");
    std::fs::write(place(&dir), head).unwrap();
    let refused = message(Ledger::read(&place(&dir)));
    assert!(
        refused.contains("has the format 1") && refused.contains("tabularium backup"),
        "{refused}"
    );
}
