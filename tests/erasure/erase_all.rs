//! Erasing several people together, and erasures that cannot finish: their rows stay hidden, the message names the
//! files, and others can still write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::{Intent, Lake, Mode, PatientScope};

use crate::harness::lake::{Fixture, Row, files_below, fixture, patient, row, table, with};
use crate::harness::records;

fn intent(owner: i64) -> Intent {
    Intent {
        mode: Mode::Live,
        application: "local".to_owned(),
        patient: PatientScope {
            patients: vec![format!("p{owner:06}")],
            owners: vec![owner],
            authorizations: Vec::new(),
        },
    }
}

/// A row whose text contains its owner's mark unchanged.
fn marked(owner: i64) -> Row {
    with(owner, &format!(r#""name":[{{"family":"Xq7-{owner}-Wz9"}}]"#))
}

fn holds(folder: &Path, text: &str) -> bool {
    files_below(folder).iter().any(|path| {
        let content = std::fs::read(path).unwrap();
        memchr::memmem::find(&content, text.as_bytes()).is_some()
    })
}

fn holds_mark(folder: &Path, owner: i64) -> bool {
    holds(folder, &format!("Xq7-{owner}-Wz9"))
}

/// The owners of the rows that a reader of the whole application sees.
fn shown(lake: &Lake, owners: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let table = lake.table(&lake.snapshot(), patient(), &records::application("local"));
    let mut owners: Vec<i64> = owners.into_iter().collect();
    owners.retain(|owner| table.read(&format!("p{owner:06}")).unwrap().is_some());
    owners
}

fn data_files(it: &Fixture) -> Vec<PathBuf> {
    table(&it.lake.snapshot())
        .files
        .iter()
        .map(|file| file.path.clone())
        .collect()
}

#[test]
fn many_people_cost_one_rewriting_of_each_file() {
    let it = fixture();
    it.commit(&(2..40).map(marked).collect::<Vec<_>>());
    it.commit(&(40..60).map(marked).collect::<Vec<_>>());
    let before = it.lake.snapshot();
    let gone: Vec<i64> = (2..60).filter(|owner| owner % 3 == 0).collect();
    let mut asked: Vec<Intent> = gone.iter().copied().map(intent).collect();
    // An unknown person, and one person twice.
    asked.push(intent(77));
    asked.push(intent(3));
    let done = it.lake.writer().unwrap().erase_all(&asked).unwrap();

    assert_eq!(done.len(), asked.len());
    for (intent, done) in asked.iter().zip(&done) {
        let there = u64::from(intent.patient.owners != [77]);
        assert_eq!((done.rows, done.files_rewritten), (there, there), "{intent:?}");
        assert_eq!(done.resources.values().sum::<u64>(), there);
        assert!(done.left.is_empty());
    }
    let now = it.lake.snapshot();
    // The erasures are recorded as one change, and each exchange of files is another.
    assert_eq!(now.erasures() - before.erasures(), gone.len() as u64 + 1);
    assert!(gone.iter().all(|owner| !holds_mark(it.dir.path(), *owner)));
    let stay: Vec<i64> = (2..60).filter(|owner| owner % 3 != 0).collect();
    assert_eq!(shown(&it.lake, 2..60), stay);
    assert_eq!(
        files_below(&it.dir.path().join("data")).len(),
        4,
        "two files and what is deleted of them"
    );
}

/// An erasure without rows used to make page links of the whole lake expire.
#[test]
fn nothing_is_recorded_where_there_is_nothing_to_erase() {
    let it = fixture();
    it.commit(&[row(3), row(9)]);
    let before = it.lake.snapshot().erasures();
    let mut elsewhere = intent(3);
    elsewhere.application = "another".to_owned();
    let mut test = intent(3);
    test.mode = Mode::Test;
    let done = it
        .lake
        .writer()
        .unwrap()
        .erase_all(&[intent(5), elsewhere, test])
        .unwrap();
    assert!(done.iter().all(|done| done.rows == 0 && done.left.is_empty()));
    assert_eq!(it.lake.snapshot().erasures(), before);
}

/// The blank rows of earlier erasures used to count for the next neighbour.
#[test]
fn what_earlier_erasures_left_is_not_counted_again() {
    let it = fixture();
    it.commit(&(2..30).map(marked).collect::<Vec<_>>());
    for owner in [7, 8, 9, 2, 3, 4, 29, 28, 6, 5] {
        let done = it.lake.writer().unwrap().erase_all(&[intent(owner)]).unwrap();
        assert_eq!((done[0].rows, done[0].files_rewritten), (1, 1), "{owner}");
        assert_eq!(done[0].resources, BTreeMap::from([(patient(), 1)]));
        assert!(!holds(it.dir.path(), &format!("p{owner:06}")), "{owner}");
    }
    assert_eq!(shown(&it.lake, 2..30), (10..28).collect::<Vec<_>>());
}

/// A damaged file used to block all writers: imports, compactions, and erasures of others.
#[test]
fn a_damaged_file_keeps_only_its_own_erasures_from_ending() {
    let it = fixture();
    it.commit(&[marked(3), marked(5), marked(7)]);
    it.commit(&[marked(10), marked(11)]);
    it.commit(&[marked(20), marked(21)]);
    let files = data_files(&it);
    let whole = std::fs::read(&files[0]).unwrap();
    std::fs::write(&files[0], &whole[..whole.len() / 2]).unwrap();
    let folder = it.dir.path();
    let before = files_below(&folder.join("data")).len();

    for _ in 0..2 {
        let done = it.lake.writer().unwrap().erase_all(&[intent(5), intent(10)]).unwrap();
        assert_eq!(done[0].left.len(), 1, "{done:?}");
        assert!(done[0].left[0].contains(&files[0].display().to_string()), "{done:?}");
        assert!(done[1].left.is_empty());
    }
    assert!(!holds_mark(folder, 10));
    assert_eq!(
        files_below(&folder.join("data")).len(),
        before + 1,
        "no more than the delete file"
    );
    let another = Lake::open(folder).unwrap();
    let writer = another.writer().unwrap();
    assert_eq!(writer.resumed().len(), 1);
    assert_eq!(writer.resumed()[0].0, intent(5));
    assert_eq!(writer.resumed()[0].1.left.len(), 1);
    drop(writer);

    // Other people's commits work.
    it.lake.refresh().unwrap();
    it.commit(&[marked(12), marked(5)]);
    let done = it.lake.writer().unwrap().erase_all(&[intent(20)]).unwrap();
    assert!(done[0].left.is_empty() && done[0].rows == 1);
    let mut writer = it.lake.writer().unwrap();
    let (merged, _) = compact::run(&mut writer, &CompactOptions::new(Effort::Thorough), |_, _, _| {}).unwrap();
    assert!(merged.files_before >= 2, "{merged:?}");
    drop(writer);

    // Once the file is back, the next writer finishes. Rows that came later stay.
    std::fs::write(&files[0], &whole).unwrap();
    let writer = it.lake.writer().unwrap();
    assert_eq!(writer.resumed()[0].1.rows, 1);
    drop(writer);
    assert_eq!(shown(&it.lake, 2..30), [3, 5, 7, 11, 12, 21]);
    assert_eq!(it.lake.writer().unwrap().resumed().len(), 0);
}

/// A missing file cannot contain anybody's rows.
#[test]
fn a_missing_file_is_nothing_to_wait_for() {
    let it = fixture();
    it.commit(&[marked(3), marked(5)]);
    let files = data_files(&it);
    it.commit(&[
        Row {
            version: 2,
            ..marked(5)
        },
        marked(9),
    ]);
    std::fs::remove_file(&files[0]).unwrap();
    let done = it.lake.writer().unwrap().erase_all(&[intent(5)]).unwrap();
    assert_eq!((done[0].rows, done[0].left.len()), (1, 0));
    assert!(!holds_mark(it.dir.path(), 5));
    assert_eq!(it.lake.writer().unwrap().resumed().len(), 0);
    it.commit(&[marked(12)]);
}

/// If an old file could not be removed, only the first pass reported it. The next pass counted the erasure as done.
#[test]
fn an_erasure_is_not_over_while_an_old_file_is_there() {
    let it = fixture();
    it.commit(&[marked(2)]);
    it.commit(&[marked(3)]);
    // A path that must be removed but cannot be.
    let stuck = table(&it.lake.snapshot()).files[0].path.with_file_name("stuck.parquet");
    std::fs::create_dir(&stuck).unwrap();
    let catalog = rusqlite::Connection::open(it.dir.path().join("catalog.sqlite")).unwrap();
    let schedule = "INSERT INTO ducklake_files_scheduled_for_deletion VALUES (99, 'live/Patient/stuck.parquet', 1, '2024-01-01 00:00:00+00')";
    catalog.execute(schedule, []).unwrap();
    drop(catalog);
    let mut writer = it.lake.writer().unwrap();
    let done = writer.erase_all(&[intent(2)]).unwrap();
    assert!(done[0].left.iter().any(|left| left.contains("stuck")), "{done:?}");
    assert_eq!(writer.unfinished(), [intent(2)]);
    drop(writer);
    assert_eq!(it.lake.writer().unwrap().unfinished(), [intent(2)]);
    std::fs::remove_dir(&stuck).unwrap();
    assert_eq!(it.lake.writer().unwrap().unfinished(), []);
    assert!(shown(&it.lake, [2]).is_empty() && !holds(it.dir.path(), "p000002"));
    assert_eq!(shown(&it.lake, [3]), [3]);
}
