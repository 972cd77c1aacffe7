//! The cost of scans without the service: reads by id, a person's columns, a page's resources and population scans over
//! a million Observations of 2,000 people in one lake, drawn at random with a fixed seed.
//!
//! `cargo bench --bench scan`. The lake is made once and kept below `target/`; SCAN_ROWS sets its size.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use criterion::{Criterion, criterion_group, criterion_main};
use datafusion::catalog::TableProvider;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::prelude::{SessionConfig, SessionContext, ident};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tabularium::columns::conditions::{ItemMatch, LeafTest, Necessary};
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};
use tabularium::fhir::storage::LeafSet;
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::file::FileWriter;
use tabularium::lake::scan::{FILE, MemoryLimits, Predicate, ROW, expression};
use tabularium::lake::{Lake, LakeOptions, Locator, Mode, Person, ScanRequest, Scope, ScopedTable};

const PEOPLE: usize = 2_000;
const FILES: usize = 4;

fn rows() -> usize {
    std::env::var("SCAN_ROWS")
        .ok()
        .and_then(|rows| rows.parse().ok())
        .unwrap_or(1_000_000)
}

fn observation_type() -> TypeId {
    facts().lookup("Observation").unwrap()
}

fn id(n: usize) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
    let (a, b): (u64, u64) = (rng.random(), rng.random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        b >> 48,
        b & 0xffff_ffff_ffff
    )
}

fn observation(n: usize) -> String {
    let patient = n % PEOPLE;
    let code = [
        "8480-6", "8462-4", "2093-3", "718-7", "29463-7", "8302-2", "39156-5", "2571-8",
    ][(n / PEOPLE) % 8];
    let (year, month, day) = (2000 + n / PEOPLE % 23, n % 12 + 1, n % 28 + 1);
    format!(
        r#"{{"resourceType":"Observation","id":"{}","meta":{{"versionId":"1","lastUpdated":"2026-01-01T00:00:00.000Z","profile":["http://hl7.org/fhir/us/core/StructureDefinition/us-core-observation-lab"]}},"status":"final","category":[{{"coding":[{{"system":"http://terminology.hl7.org/CodeSystem/observation-category","code":"laboratory","display":"Laboratory"}}]}}],"code":{{"coding":[{{"system":"http://loinc.org","code":"{code}","display":"Test {code}"}}],"text":"Test {code}"}},"subject":{{"reference":"Patient/p{patient}"}},"encounter":{{"reference":"Encounter/{}"}},"effectiveDateTime":"{year}-{month:02}-{day:02}T08:30:00+01:00","issued":"{year}-{month:02}-{day:02}T09:30:00.123+01:00","valueQuantity":{{"value":{}.{},"unit":"mg/dL","system":"http://unitsofmeasure.org","code":"mg/dL"}}}}"#,
        id(n),
        id(n / 3 + (1 << 40)),
        n % 300,
        n % 10,
    )
}

fn lake() -> Lake {
    let rows = rows();
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("target/scan-bench-{rows}"));
    let done = dir.join("done");
    if done.exists() {
        return Lake::open(&dir).unwrap();
    }
    let _ = std::fs::remove_dir_all(&dir);
    let lake = Lake::open_or_create(&dir).unwrap();
    let mut writer = lake.writer().unwrap();
    let mut transaction = writer.begin();
    let time = transaction.time();
    let type_id = observation_type();
    for file in 0..FILES {
        // An import in bounded memory leaves such files: each is sorted and has rows of all people.
        let mut order: Vec<(i64, String, usize)> = (0..rows)
            .filter(|n| (n / PEOPLE) % FILES == file)
            .map(|n| (lake.owner_of("local", &format!("p{}", n % PEOPLE)), id(n), n))
            .collect();
        order.sort();
        let path = transaction.new_file_path(Mode::Live, type_id).unwrap();
        let (mut shredder, mut tape, mut out) = (Shredder::new(type_id), Tape::default(), None);
        let last = order.len() - 1;
        for (at, (owner, id, n)) in order.iter().enumerate() {
            let (text, patient) = (observation(*n), format!("p{}", n % PEOPLE));
            let values = SystemValues {
                owner: *owner,
                id,
                patient: Some(&patient),
                application: "local",
                authorization: None,
                endpoint: None,
                version: 1,
                last_updated: time,
                digest: [0; 16],
                shared_refs: &[],
                resource: &text,
            };
            shredder.push(&values, tape.parse(text.as_bytes()).unwrap()).unwrap();
            if shredder.len() == 32_768 || at == last {
                let batch = shredder.finish().unwrap();
                let schema = transaction.adopt(Mode::Live, type_id, &batch.schema()).unwrap();
                let out = out.get_or_insert_with(|| {
                    FileWriter::create(&path, type_id, &schema, order.len(), transaction.keys()).unwrap()
                });
                out.write(&batch).unwrap();
            }
        }
        let out: Option<FileWriter> = out;
        transaction.add_file(Mode::Live, type_id, out.unwrap().finish().unwrap());
    }
    transaction.commit("bench", "").unwrap();
    drop(writer);
    std::fs::write(done, "").unwrap();
    lake
}

fn leaves(paths: &[&str]) -> LeafSet {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

fn table(lake: &Lake) -> ScopedTable {
    let scope = Scope {
        mode: Mode::Live,
        application: "local".into(),
        patient: None,
    };
    lake.table(&lake.snapshot(), observation_type(), &Arc::new(scope))
}

fn point(c: &mut Criterion) {
    let lake = lake();
    let table = table(&lake);
    let (rows, mut rng) = (rows(), ChaCha8Rng::seed_from_u64(1));
    let ids: Vec<String> = (0..20_000).map(|_| id(rng.random_range(0..rows))).collect();
    for id in &ids {
        assert!(table.read(id).unwrap().is_some());
    }
    let mut next = ids.iter().cycle();
    c.bench_function("read by id", |b| {
        b.iter(|| table.read(next.next().unwrap()).unwrap().unwrap())
    });
    c.bench_function("read an absent id", |b| {
        b.iter(|| table.read("no-such-id").unwrap().is_none())
    });
    c.bench_function("locate", |b| {
        b.iter(|| table.locate(next.next().unwrap()).unwrap().unwrap())
    });
}

fn person(c: &mut Criterion) {
    let lake = lake();
    let warm = table(&lake);
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let asked = leaves(&[
        "code.coding.system",
        "code.coding.code",
        "effectiveDateTime__start",
        "effectiveDateTime__end",
        "subject.reference__id",
    ]);
    let owner = |n: usize| Person::Owner(lake.owner_of("local", &format!("p{n}")));
    for n in 0..PEOPLE {
        warm.person_batch(owner(n), &leaves(&["id"])).unwrap();
    }
    // A reader without a cache of people's columns, so each person is read anew.
    let forgetful = LakeOptions {
        memory: MemoryLimits {
            people: false,
            ..MemoryLimits::default()
        },
        ..LakeOptions::default()
    };
    let forgetful = Lake::open_with(lake.folder().path(), forgetful).unwrap();
    let cold = table(&forgetful);
    let mut fresh = 0;
    c.bench_function("a person's columns, cold", |b| {
        b.iter(|| {
            fresh = (fresh + 1) % PEOPLE;
            cold.person_batch(owner(fresh), &asked).unwrap()
        })
    });
    c.bench_function("a person's columns, hot", |b| {
        b.iter(|| warm.person_batch(owner(rng.random_range(0..50)), &asked).unwrap())
    });
    let places: Vec<Vec<Locator>> = (0..200)
        .map(|n| {
            let all = Locator::of(&warm.person_batch(owner(n), &asked).unwrap().batch);
            (0..20).map(|_| all[rng.random_range(0..all.len())]).collect()
        })
        .collect();
    let mut next = places.iter().cycle();
    c.bench_function("20 resources of a person", |b| {
        b.iter(|| warm.resources(next.next().unwrap()).unwrap())
    });
}

fn population(c: &mut Criterion) {
    let lake = lake();
    let table = table(&lake);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    let count_where = |mut request: ScanRequest, asked: &[Arc<dyn Predicate>]| {
        let columns = table.schema(&request.leaves);
        let names = columns.fields().iter().map(|field| field.name().as_str());
        let columns: Vec<Expr> = names.chain([FILE, ROW]).map(ident).collect();
        for predicate in asked {
            request.leaves.extend(predicate.leaves().iter().cloned());
        }
        let provider = table.provider(request);
        let mut frame = context.read_table(provider.clone()).unwrap();
        for predicate in asked {
            let filter = expression(predicate.clone(), &provider.schema());
            frame = frame.filter(filter).unwrap();
        }
        let frame = frame.select(columns).unwrap();
        let plan = runtime.block_on(frame.create_physical_plan()).unwrap();
        let batches = runtime
            .block_on(datafusion::physical_plan::collect(plan, context.task_ctx()))
            .unwrap();
        (
            batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
            provider.report(),
        )
    };
    let count = |request: ScanRequest| count_where(request, &[]);
    let mut group = c.benchmark_group("population");
    group.sample_size(10);
    for (name, asked) in [
        ("nothing", leaves(&[])),
        ("code", leaves(&["code.coding.system", "code.coding.code"])),
        (
            "code and valueQuantity",
            leaves(&["code.coding.code", "valueQuantity.value__number", "valueQuantity.unit"]),
        ),
    ] {
        let request = ScanRequest {
            leaves: asked,
            ..ScanRequest::default()
        };
        eprintln!("{name}: {:?}", count(request.clone()).1);
        group.bench_function(name, |b| b.iter(|| count(request.clone()).0));
    }
    let condition = ItemMatch {
        leaves: vec!["code.coding.system".into(), "code.coding.code".into()],
        any_of: vec![vec![
            LeafTest::Is("http://loinc.org".into()),
            LeafTest::Is("718-7".into()),
        ]],
        label: "code".into(),
    };
    let by_code: [Arc<dyn Predicate>; 1] = [Arc::new(ByCode {
        label: "code".into(),
        leaves: condition.leaf_set(),
        necessary: Necessary {
            items: vec![condition],
            exact: true,
            ..Necessary::default()
        },
    })];
    group.bench_function("count by system and code", |b| {
        b.iter(|| count_where(ScanRequest::default(), &by_code).0)
    });
    let by_row: [Arc<dyn Predicate>; 1] = [Arc::new(ByCode {
        label: "code".into(),
        leaves: leaves(&["code.coding.code"]),
        necessary: Necessary::default(),
    })];
    let request = ScanRequest {
        leaves: leaves(&["effectiveDateTime__start"]),
        ..ScanRequest::default()
    };
    eprintln!("one code in eight: {:?}", count_where(request.clone(), &by_row).1);
    group.bench_function("dates of one code in eight", |b| {
        b.iter(|| count_where(request.clone(), &by_row).0)
    });
}

/// One code out of eight.
#[derive(Debug)]
struct ByCode {
    label: Arc<str>,
    leaves: LeafSet,
    necessary: Necessary,
}

impl Predicate for ByCode {
    fn label(&self) -> &Arc<str> {
        &self.label
    }

    fn leaves(&self) -> &LeafSet {
        &self.leaves
    }

    fn necessary(&self) -> &Necessary {
        &self.necessary
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray, DataFusionError> {
        let code = batch
            .column_by_name("code")
            .unwrap()
            .as_struct()
            .column_by_name("coding")
            .unwrap()
            .as_list::<i32>();
        let values = code
            .values()
            .as_struct()
            .column_by_name("code")
            .unwrap()
            .as_string::<i32>();
        let offsets = code.offsets();
        let mask =
            (0..code.len()).map(|row| (offsets[row]..offsets[row + 1]).any(|at| values.value(at as usize) == "718-7"));
        Ok(BooleanArray::from(mask.collect::<Vec<bool>>()))
    }
}

criterion_group!(benches, point, person, population);
criterion_main!(benches);
