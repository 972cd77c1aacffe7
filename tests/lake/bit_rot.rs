//! Flipped bits on the disk: an answer is correct, or an error names the file.

use std::error::Error;
use std::ops::Range;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::ingest::{Options, import};
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::file::{CHECKSUMS_KEY, Verified, verify};
use tabularium::lake::{Keys, Lake, LakeError, Mode, deletes};
use tabularium::search::raw;
use tabularium::search::{Engine, Handling, Request};
use tabularium::views::{Format, Resources, Run, View};

use crate::harness::lake::files_below;
use crate::harness::records::{application, type_named};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/lake-v1");

fn observation(at: usize, changed: bool) -> Value {
    let system = ["http://loinc.org", "http://snomed.info/sct"][at % 2];
    let kind = ["vital", "lab"][at % 2];
    let status = if changed { "amended" } else { "final" };
    json!({
        "resourceType": "Observation", "id": format!("o{at:02}"), "status": status,
        "category": [{"coding": [{"system": "urn:kind", "code": kind}]}],
        "code": {"coding": [{"system": system, "code": format!("c-{}", at % 5)}], "text": "Pressure"},
        "subject": {"reference": format!("Patient/p{}", at % 3)},
        "effectiveDateTime": format!("2021-03-{:02}T10:00:00Z", at % 28 + 1),
        "valueQuantity": {"value": at, "unit": "mmHg"},
        "component": (0..at % 3).map(|nth| json!({
            "code": {"coding": [{"system": "urn:part", "code": format!("part-{nth}")}]}, "valueString": format!("{at}:{nth}"),
        })).collect::<Vec<_>>(),
    })
}

/// Two files of Observations, with some deleted in the older one, and one file of Patients.
fn lake(folder: &Path) {
    let people =
        (0..3).map(|at| json!({"resourceType": "Patient", "id": format!("p{at}"), "name": [{"family": "Rot"}]}));
    let first = people.chain((0..40).map(|at| observation(at, false)));
    let second = (30..50).map(|at| observation(at, true));
    let lake = crate::harness::kind::open_or_create(folder.join("lake"));
    for (name, resources) in [("first", first.collect::<Vec<_>>()), ("second", second.collect())] {
        let lines: Vec<String> = resources.iter().map(Value::to_string).collect();
        let input = folder.join(format!("{name}.ndjson"));
        std::fs::write(&input, lines.join("\n")).unwrap();
        let summary = import(&mut lake.writer().unwrap(), Options::default(), &[input]).unwrap();
        assert_eq!(summary.total().refused, 0);
    }
}

const SEARCHES: [&str; 8] = [
    "Observation?code=http://loinc.org|c-2&_count=50",
    "Observation?component-code=part-1&_sort=date",
    "Observation?value-quantity=gt30&_sort=-value-quantity",
    "Observation?status=amended&_summary=count",
    "Observation?date=lt2021-03-10&category=lab",
    "Observation?patient=p1&_include=Observation:subject",
    "Patient?name=rot&_revinclude=Observation:subject",
    "Observation?_lastUpdated=gt2020&_elements=code",
];

/// The answers to all questions, after the lake was opened again.
fn answers(folder: &Path) -> Vec<Result<String, String>> {
    let lake = Lake::open(folder).unwrap();
    let scope = application("local");
    let mut answers = Vec::new();
    let engine = Engine::new(lake.clone(), SearchParameters::builtin());
    for search in SEARCHES {
        let (name, parameters) = search.split_once('?').unwrap();
        let request = Request {
            scope: &scope,
            type_id: facts().lookup(name).unwrap(),
            parameters: &raw::parse(parameters),
            compartment: None,
            handling: Handling::Strict,
            now: 1_717_200_000_000_000,
            base: "http://records.example/fhir/",
        };
        let found = RUNTIME.with(|runtime| runtime.block_on(engine.search(&request)));
        // An answer has an id and a time of its own.
        answers.push(found.map_err(|error| chain(&error)).map(|found| {
            let mut bundle: Value = serde_json::from_slice(&found).unwrap();
            let bundle = bundle.as_object_mut().unwrap();
            for own in ["id", "meta", "link"] {
                bundle.remove(own);
            }
            json!(bundle).to_string()
        }));
    }
    let definition = json!({"resource": "Observation", "select": [
        {"column": [{"name": "id", "path": "id"}, {"name": "status", "path": "status"},
            {"name": "value", "path": "value.ofType(Quantity).value"}]},
        {"forEachOrNull": "component", "column": [{"name": "part", "path": "code.coding.code.first()"}]}]});
    let view = std::sync::Arc::new(View::parse(definition.to_string().as_bytes()).unwrap());
    let table = lake.table(&lake.snapshot(), type_named("Observation"), &scope);
    let run = futures::executor::block_on(Run::new(&table, view, &Resources::default(), None));
    answers.push(run.map_err(|error| chain(&error)).and_then(|run| {
        let mut text = Vec::new();
        run.rows()
            .write(Format::Csv { header: true }, &mut text)
            .map_err(|error| chain(&error))?;
        Ok(String::from_utf8(text).unwrap())
    }));
    for id in (0..51).map(|at| format!("o{at:02}")) {
        let read = table.read(&id).map_err(|error| chain(&error));
        answers.push(read.map(|row| format!("{row:?}")));
    }
    answers
}

thread_local! {
    static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    text
}

/// The end of the file's pages, and its length.
fn parts(bytes: &[u8]) -> (usize, usize) {
    let key = memchr::memmem::rfind(bytes, CHECKSUMS_KEY.as_bytes()).expect("the file has checksums");
    let place = std::str::from_utf8(&bytes[key + CHECKSUMS_KEY.len() + 2..][..16]).unwrap();
    (usize::from_str_radix(place, 16).unwrap(), bytes.len())
}

/// Flips bits of a file one at a time, `flips` in each part, and calls `check` after each. At the end the file is
/// unchanged.
fn flip(path: &Path, parts: &[Range<usize>], flips: usize, mut check: impl FnMut(usize, u8)) {
    let whole = std::fs::read(path).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(17);
    for part in parts {
        for _ in 0..flips {
            let (at, bit) = (random.random_range(part.clone()), random.random_range(0..8u8));
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            std::fs::write(path, &damaged).unwrap();
            check(at, bit);
        }
    }
    std::fs::write(path, &whole).unwrap();
}

/// Of 42 flipped bits two changed a search's answer and three a view's, without an error.
#[test]
fn a_flipped_bit_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    lake(folder.path());
    let root = folder.path().join("lake");
    let before = answers(&root);
    for answer in &before {
        answer.as_ref().unwrap();
    }
    assert_eq!(
        before[0].as_ref().unwrap().matches("\"fullUrl\"").count(),
        5,
        "{:?}",
        before[0]
    );
    let files: Vec<PathBuf> = files_below(&root.join("data")).into_iter().collect();
    assert_eq!(
        files.len(),
        4,
        "two files of Observations, their delete file and one of Patients: {files:?}"
    );
    for path in files {
        let (pages, length) = parts(&std::fs::read(&path).unwrap());
        // The first four bytes only mark the file as Parquet. A delete file is checked as a whole.
        let parts = match pages {
            0 => std::iter::once(4..length).collect(),
            pages => vec![4..pages, pages..length, length - 400..length],
        };
        let mut errors = 0;
        flip(&path, &parts, 40, |at, bit| {
            for (question, (now, before)) in answers(&root).iter().zip(&before).enumerate() {
                match now {
                    Ok(now) => assert_eq!(
                        now,
                        before.as_ref().unwrap(),
                        "question {question}, bit {bit} of byte {at} of {}",
                        path.display()
                    ),
                    Err(error) => {
                        errors += 1;
                        assert!(
                            error.contains(path.to_str().unwrap()),
                            "bit {bit} of byte {at}: {error}"
                        );
                    }
                }
            }
        });
        assert!(errors > 0, "{} is read", path.display());
    }
    assert_eq!(answers(&root), before);
}

/// Checks that a flipped bit was found. A flip in the key of the checksums hides them, but changes nothing else. A flip
/// among their digits may only change the case of a letter.
fn check_found(found: Result<Verified, LakeError>, path: &Path, bytes: &[u8], (at, bit): (usize, u8)) {
    let key = memchr::memmem::rfind(bytes, CHECKSUMS_KEY.as_bytes()).unwrap();
    if !(key..key + CHECKSUMS_KEY.len() + 2 + 24).contains(&at) {
        let error = found.expect_err(&format!("bit {bit} of byte {at} of {}", path.display()));
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

/// Checking or merging a file finds all flipped bits, including those that no question reads.
#[test]
fn a_flipped_bit_is_found_by_checking_the_file() {
    let folder = tempfile::tempdir().unwrap();
    lake(folder.path());
    let root = folder.path().join("lake");
    let mut rows = 0;
    for path in files_below(&root.join("data")) {
        let bytes = std::fs::read(&path).unwrap();
        let (pages, length) = parts(&bytes);
        if pages == 0 {
            let positions = deletes::read(&path, &Keys::none()).unwrap();
            assert_eq!(positions.len(), 10);
            flip(&path, &[0..length / 2, length / 2..length], 100, |at, bit| {
                let found = deletes::read(&path, &Keys::none()).map(|_| Default::default());
                check_found(found, &path, &bytes, (at, bit));
            });
            continue;
        }
        let verified = verify(&path, &Keys::none()).unwrap();
        assert!(verified.pages > 20);
        rows += verified.rows;
        flip(&path, &[0..pages, pages..length], 200, |at, bit| {
            check_found(verify(&path, &Keys::none()), &path, &bytes, (at, bit));
        });
    }
    assert_eq!(rows, 3 + 40 + 20, "deleted rows are compared, too");

    let observations = Lake::open(&root).unwrap().snapshot();
    let file = &observations.table(Mode::Live, type_named("Observation")).unwrap().files[0];
    let whole = std::fs::read(&file.path).unwrap();
    let mut damaged = whole.clone();
    damaged[parts(&whole).0 - 100] ^= 4;
    std::fs::write(&file.path, damaged).unwrap();
    let options = CompactOptions::new(Effort::Thorough);
    let again = Lake::open(&root).unwrap();
    let (_, unreadable) = compact::run(&mut again.writer().unwrap(), &options, |_, _, _| {}).unwrap();
    assert_eq!(unreadable.len(), 1);
    assert_eq!(unreadable[0].path, file.path);
}

/// Files of earlier programs have no page checksums, but they have digests of the resources.
#[test]
fn a_resource_of_a_file_without_checksums_is_compared_with_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    for from in files_below(Path::new(FIXTURE)) {
        let to = folder.path().join(from.strip_prefix(FIXTURE).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
    super::old_lake::raise(folder.path());
    let scope = application("local");
    let read = || {
        let lake = Lake::open(folder.path()).unwrap();
        let table = lake.table(&lake.snapshot(), type_named("Observation"), &scope);
        ["obs-1", "obs-2"].map(|id| {
            let read = table.read(id).map_err(|error| chain(&error))?;
            // The digest covers the content without the version and the date in `meta`.
            Ok::<_, String>(read.map(|row| {
                let mut resource: Value = serde_json::from_slice(&row.resource).unwrap();
                resource.as_object_mut().unwrap().remove("meta");
                resource
            }))
        })
    };
    let before = read().map(Result::unwrap);
    assert!(before[0].is_some());
    let snapshot = Lake::open(folder.path()).unwrap().snapshot();
    for file in &snapshot.table(Mode::Live, type_named("Observation")).unwrap().files {
        assert_eq!(verify(&file.path, &Keys::none()).unwrap().pages, 0);
        let metadata = parquet::file::metadata::ParquetMetaDataReader::new()
            .parse_and_finish(&std::fs::File::open(&file.path).unwrap())
            .unwrap();
        let mut columns = metadata.row_group(0).columns().iter();
        let resource = columns.find(|column| column.column_path().string() == "resource");
        let (start, length) = resource.unwrap().byte_range();
        let range = start as usize..(start + length) as usize;
        let mut errors = 0;
        flip(&file.path, &[range.clone(), range], 75, |at, bit| {
            for (now, before) in read().into_iter().zip(&before) {
                match now {
                    Ok(now) => assert_eq!(&now, before, "bit {bit} of byte {at}"),
                    Err(error) => {
                        errors += 1;
                        assert!(error.contains(file.path.to_str().unwrap()), "{error}");
                    }
                }
            }
        });
        assert!(errors > 0);
    }
}
