//! Maintenance of a lake: erasing a person, backup, check, sealing; and the cost of a sealed lake.

mod expunge;
mod kinds;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput};
use tabularium::backup::{self, Options, Rules};
use tabularium::ingest::{self, LOCAL_APPLICATION};
use tabularium::lake::check::{Depth, check_with};
use tabularium::lake::{Conversion, KekSource, Lake, LakeOptions, Mode, PatientScope};

use crate::sample::Sample;

/// A copy of the sample's lake in its own folder.
struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    fn of(sample: &Sample) -> Copy {
        let folder = tempfile::tempdir().unwrap();
        sample.lake.copy_to(&folder.path().join("lake")).unwrap();
        Copy { folder }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn options(&self) -> LakeOptions {
        let path = self.folder.path().join("kek");
        if !path.exists() {
            std::fs::write(&path, "a1".repeat(32)).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        }
        LakeOptions {
            kek: KekSource::File(path),
            ..LakeOptions::default()
        }
    }

    fn open(&self) -> Lake {
        Lake::open_with(self.data(), self.options()).unwrap()
    }

    fn turn(&self, mut conversion: Conversion) -> Duration {
        let lake = self.open();
        let begun = Instant::now();
        while conversion.step(&mut lake.writer().unwrap()).unwrap() {}
        begun.elapsed()
    }

    fn back_up(&self) {
        let rules: Rules<'_> = &|_: &Path| Err("nobody's consent has ended".to_owned());
        let to = self.folder.path().join("backups");
        backup::backup(&self.data(), &to, Options::default(), rules).unwrap();
    }
}

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let mut group = criterion.benchmark_group("care");
    group.sample_size(10).warm_up_time(Duration::from_millis(1));
    for kind in ["open", "sealed"] {
        // A person can be erased only once, so a copy is used until its people are gone.
        let mut left: Option<(Copy, std::slice::Iter<'_, String>)> = None;
        group.sampling_mode(SamplingMode::Flat);
        group.bench_function(format!("erase-a-person/{kind}"), |bench| {
            let mut next = || {
                if left.as_ref().is_none_or(|(_, people)| people.len() == 0) {
                    left = Some((of_kind(sample, kind), sample.people.iter()));
                }
                let (copy, people) = left.as_mut().unwrap();
                erase(copy, people.next().unwrap())
            };
            bench.iter_custom(|times| (0..times).map(|_| next()).sum());
        });
    }
    let made = OnceCell::new();
    let mut syncs = 0;
    group.bench_function("backup-after-a-small-sync", |bench| {
        let copy = made.get_or_init(|| {
            let copy = Copy::of(sample);
            copy.back_up();
            copy
        });
        bench.iter_custom(|times| (0..times).map(|_| second_backup(copy, &mut syncs)).sum());
    });
    group.sampling_mode(SamplingMode::Auto);
    group.throughput(Throughput::Bytes(sample.lake.info().unwrap().bytes));
    for kind in ["open", "sealed"] {
        let made = OnceCell::new();
        group.bench_function(format!("check/{kind}"), |bench| {
            let copy = made.get_or_init(|| of_kind(sample, kind));
            let options = copy.options();
            bench.iter(|| {
                let checked = check_with(&copy.data(), Depth::Checksums, &options.kek);
                assert!(checked.unwrap().is_good());
            });
        });
    }
    let made = OnceCell::new();
    group.bench_function("seal", |bench| {
        let copy = made.get_or_init(|| Copy::of(sample));
        bench.iter_custom(|times| {
            let turns = (0..times).map(|_| {
                let spent = copy.turn(Conversion::to_sealed());
                copy.turn(Conversion::to_open());
                spent
            });
            turns.sum()
        });
    });
    group.finish();
    expunge::benches(criterion, sample);
    kinds::benches(criterion, sample);
}

fn of_kind(sample: &Sample, kind: &str) -> Copy {
    let copy = Copy::of(sample);
    if kind == "sealed" {
        copy.turn(Conversion::to_sealed());
    }
    copy
}

/// The time from opening the lake to the last removed byte.
fn erase(copy: &Copy, person: &str) -> Duration {
    let lake = copy.open();
    let id = person.strip_prefix("Patient/").unwrap_or(person);
    let patient = PatientScope {
        owners: lake.owners_of(LOCAL_APPLICATION, id),
        patients: vec![id.to_owned()],
        authorizations: Vec::new(),
    };
    let begun = Instant::now();
    let erased = lake
        .writer()
        .unwrap()
        .erase(Mode::Live, LOCAL_APPLICATION, &patient)
        .unwrap();
    let spent = begun.elapsed();
    assert!(erased.left.is_empty() && erased.rows > 0);
    spent
}

fn second_backup(copy: &Copy, number: &mut u64) -> Duration {
    *number += 1;
    let lake = copy.open();
    let input = copy.folder.path().join("sync.ndjson");
    let lines: Vec<String> = (0..20)
        .map(|at| {
            format!(r#"{{"resourceType":"Observation","id":"s-{number}-{at}","status":"final","code":{{"text":"c"}}}}"#)
        })
        .collect();
    std::fs::write(&input, lines.join("\n")).unwrap();
    ingest::import(&mut lake.writer().unwrap(), ingest::Options::default(), &[input]).unwrap();
    let begun = Instant::now();
    copy.back_up();
    begun.elapsed()
}
