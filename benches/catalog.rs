//! The catalog: the cost of a sync of small files, and opening a lake with very many files.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use criterion::Criterion;
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::file::write_file;
use tabularium::lake::{Keys, Lake, LakeWriter, Mode, Transaction, WrittenColumn, WrittenFile};
use tabularium::sandbox::Population;

/// The number of files of a sync, and of the large lake.
const SYNC_FILES: usize = 20;
const MANY_FILES: u64 = 100_000;
/// The bytes of each file of the large lake.
const FILE_BYTES: u64 = 30_000;

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("catalog");
    group.sample_size(10);
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open_or_create(folder.path()).unwrap();
    let people = Population::new(1, 500);
    let mut syncs = 0;
    let mut grown = None;
    group.bench_function("commit-20-small-files", |bench| {
        let mut writer = lake.writer().unwrap();
        bench.iter_custom(|times| {
            let mut spent = Duration::ZERO;
            for _ in 0..times {
                let mut transaction = writer.begin();
                sync(&mut transaction, &people, syncs);
                let begun = Instant::now();
                transaction.commit("bench", "").unwrap();
                spent += begun.elapsed();
                syncs += 1;
                // The columns are known by then.
                if grown.is_none() && syncs == 20 {
                    grown = Some((syncs, catalog_bytes(&lake)));
                }
            }
            spent
        });
    });
    if let Some((from, before)) = grown.filter(|(from, _)| syncs > *from) {
        let bytes = (catalog_bytes(&lake) - before) / (syncs - from);
        println!(
            "catalog/growth-of-20-small-files              {bytes} bytes a sync, over {} syncs",
            syncs - from
        );
    }

    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open_or_create(folder.path()).unwrap();
    let made = std::cell::OnceCell::new();
    group.bench_function("open-100,000-files", |bench| {
        made.get_or_init(|| many_files(&mut lake.writer().unwrap()));
        bench.iter(|| assert_eq!(Lake::open(folder.path()).unwrap().info().unwrap().files, MANY_FILES));
    });
    group.bench_function("open-100,000-files-to-write", |bench| {
        made.get_or_init(|| many_files(&mut lake.writer().unwrap()));
        bench.iter_custom(|times| {
            let writers = (0..times).map(|_| {
                let lake = Lake::open(folder.path()).unwrap();
                let begun = Instant::now();
                let writer = lake.writer().unwrap();
                let spent = begun.elapsed();
                drop(writer);
                spent
            });
            writers.sum()
        });
    });
    // A server does this for each sync: the lake stays open, and no other process writes.
    let mut syncs = 1;
    group.bench_function("open-100,000-files-to-write-again", |bench| {
        made.get_or_init(|| many_files(&mut lake.writer().unwrap()));
        bench.iter_custom(|times| (0..times).map(|_| sync_alone(&lake, &people, &mut syncs)[0]).sum());
    });
    group.bench_function("commit-20-to-100,000-files", |bench| {
        made.get_or_init(|| many_files(&mut lake.writer().unwrap()));
        bench.iter_custom(|times| (0..times).map(|_| sync_alone(&lake, &people, &mut syncs)[1]).sum());
    });
    group.bench_function("end-writing-100,000-files", |bench| {
        made.get_or_init(|| many_files(&mut lake.writer().unwrap()));
        bench.iter_custom(|times| (0..times).map(|_| sync_alone(&lake, &people, &mut syncs)[2]).sum());
    });
    group.finish();
}

/// The bytes of the catalog's used pages.
fn catalog_bytes(lake: &Lake) -> u64 {
    let catalog = rusqlite::Connection::open(lake.folder().catalog()).unwrap();
    let pragma = |name: &str| {
        catalog
            .pragma_query_value(None, name, |row| row.get::<_, u64>(0))
            .unwrap()
    };
    (pragma("page_count") - pragma("freelist_count")) * pragma("page_size")
}

/// One sync with its own writer: the times of opening, committing and ending.
fn sync_alone(lake: &Lake, people: &Population, number: &mut u64) -> [Duration; 3] {
    let begun = Instant::now();
    let mut writer = lake.writer().unwrap();
    let open = begun.elapsed();
    let mut transaction = writer.begin();
    sync(&mut transaction, people, *number);
    *number += 1;
    let begun = Instant::now();
    transaction.commit("bench", "").unwrap();
    let commit = begun.elapsed();
    let begun = Instant::now();
    drop(writer);
    [open, commit, begun.elapsed()]
}

/// One person's records, a file for each type.
fn sync(transaction: &mut Transaction<'_>, people: &Population, number: u64) {
    let records = people.person(number % people.patients());
    let mut by_type: BTreeMap<TypeId, Vec<&str>> = BTreeMap::new();
    for record in records.iter() {
        by_type
            .entry(facts().lookup(record.resource_type).unwrap())
            .or_default()
            .push(record.json);
    }
    // A person has fewer than 20 types, so some are synced to test data too.
    let modes = [Mode::Live, Mode::Test]
        .into_iter()
        .flat_map(|mode| by_type.iter().map(move |of_type| (mode, of_type)));
    for (mode, (type_id, texts)) in modes.take(SYNC_FILES) {
        let mut shredder = Shredder::new(*type_id);
        let mut tape = Tape::new();
        for (at, text) in texts.iter().take(5).enumerate() {
            let id = format!("{number}-{at}");
            let system = SystemValues {
                owner: number as i64 * 1_000_003,
                id: &id,
                patient: Some("p"),
                application: "local",
                authorization: Some("a"),
                endpoint: Some("e"),
                version: 1,
                last_updated: transaction.time(),
                digest: [0; 16],
                shared_refs: &[],
                resource: text,
            };
            shredder.push(&system, tape.parse(text.as_bytes()).unwrap()).unwrap();
        }
        let batch = shredder.finish().unwrap();
        let schema = transaction.adopt(mode, *type_id, batch.schema_ref()).unwrap();
        let path = transaction.new_file_path(mode, *type_id).unwrap();
        let file = write_file(&path, *type_id, &schema, [&batch], &Keys::none()).unwrap();
        transaction.add_file(mode, *type_id, file);
    }
}

/// A lake of 100,000 files in 20 tables, as far as the catalog knows: the files have their size but no contents.
fn many_files(writer: &mut LakeWriter) {
    let mut transaction = writer.begin();
    sync(&mut transaction, &Population::new(1, 1), 0);
    let snapshot = transaction.commit("bench", "").unwrap();
    let have: u64 = snapshot.tables.values().map(|table| table.files.len() as u64).sum();
    let mut transaction = writer.begin();
    for number in 0..MANY_FILES - have {
        let table = snapshot
            .tables
            .values()
            .nth(number as usize % snapshot.tables.len())
            .unwrap();
        let path = transaction.new_file_path(table.mode, table.type_id).unwrap();
        std::fs::File::create(&path).unwrap().set_len(FILE_BYTES).unwrap();
        let owner = (number as i64).wrapping_mul(0x1234_5678_9abc) & i64::MAX;
        let file = WrittenFile {
            path,
            rows: 50,
            bytes: FILE_BYTES,
            footer_size: 6_000,
            owners: owner..=owner,
            versions: 1..=3,
            last_updated: transaction.time() - 1_000..=transaction.time(),
            columns: (1..=25).map(|id| WrittenColumn { id, nulls: id as u64 }).collect(),
            key: None,
        };
        transaction.add_file(table.mode, table.type_id, file);
    }
    transaction.commit("bench", "").unwrap();
}
