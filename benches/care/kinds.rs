//! The cost of sealing: the same import, views, counts and searches over an open and a sealed lake with the same rows.
//! They alternate, so that both meet the same load of the machine.

use std::hint::black_box;
use std::io::sink;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::ingest;
use tabularium::lake::{KekSource, Lake, LakeOptions};
use tabularium::search::Engine;
use tabularium::views::{Format, Resources, Run, View};
use tokio::runtime::Runtime;

use super::of_kind;
use crate::sample::{PULSE, Sample, draw};
use crate::views::VIEWS;

/// The medians of a bench over both kinds.
struct Compared {
    name: String,
    open: Duration,
    sealed: Duration,
}

pub(super) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let mut group = criterion.benchmark_group("care/sealed-against-open");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    let runtime = Runtime::new().unwrap();
    let mut compared = Vec::new();
    compared.extend(in_turn(&mut group, "import", |is_sealed| import(sample, is_sealed)));

    let copies = [of_kind(sample, "open"), of_kind(sample, "sealed")];
    let lakes = copies.each_ref().map(super::Copy::open);
    for (name, definition, _) in VIEWS {
        let view = Arc::new(View::parse(definition.as_bytes()).unwrap());
        let csv = |is_sealed: bool| {
            let lake = &lakes[usize::from(is_sealed)];
            let begun = Instant::now();
            let table = lake.table(&lake.snapshot(), view.resource(), &sample.scope);
            let run = runtime.block_on(Run::new(&table, view.clone(), &Resources::default(), None));
            run.unwrap()
                .rows()
                .write(Format::Csv { header: true }, &mut sink())
                .unwrap();
            begun.elapsed()
        };
        compared.extend(in_turn(&mut group, &format!("view/{name}"), csv));
    }
    let engines = lakes
        .each_ref()
        .map(|lake| Engine::new(lake.clone(), SearchParameters::builtin()));
    let search = |is_sealed: bool, query: &str| {
        let begun = Instant::now();
        black_box(runtime.block_on(sample.search(&engines[usize::from(is_sealed)], query)));
        begun.elapsed()
    };
    for (name, query) in [
        ("count/by-code", format!("code={PULSE}&_summary=count")),
        ("count/by-system", "code=http://loinc.org|&_summary=count".to_owned()),
    ] {
        compared.extend(in_turn(&mut group, name, |is_sealed| search(is_sealed, &query)));
    }
    // Both kinds get requests for the same people.
    let mut people = [draw(&sample.people), draw(&sample.people)];
    let person = |is_sealed: bool| {
        let person = people[usize::from(is_sealed)].next().unwrap();
        search(
            is_sealed,
            &format!("patient={person}&code={PULSE}&_sort=-date&_count=20"),
        )
    };
    compared.extend(in_turn(&mut group, "search/one-person", person));
    group.finish();
    for Compared { name, open, sealed } in compared {
        let ratio = sealed.as_secs_f64() / open.as_secs_f64();
        println!("care/sealed-against-open/{name}: open {open:.3?}, sealed {sealed:.3?}, {ratio:.2} times");
    }
}

/// Measures both kinds alternately, and each first equally often. Criterion shows the sealed lake's time.
fn in_turn(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    mut measure: impl FnMut(bool) -> Duration,
) -> Option<Compared> {
    let mut times = [Vec::new(), Vec::new()];
    group.bench_function(name, |bench| {
        bench.iter_custom(|rounds| {
            let mut sealed = Duration::ZERO;
            for round in 0..rounds {
                let first = round % 2 == 1;
                for is_sealed in [first, !first] {
                    let took = measure(is_sealed);
                    times[usize::from(is_sealed)].push(took);
                    sealed += if is_sealed { took } else { Duration::ZERO };
                }
            }
            sealed
        });
    });
    let [open, sealed] = times.map(|mut times| {
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    });
    Some(Compared {
        name: name.to_owned(),
        open: open?,
        sealed: sealed?,
    })
}

/// Imports all of the sample's NDJSON into an empty lake.
fn import(sample: &Sample, is_sealed: bool) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kek");
    std::fs::write(&path, "a1".repeat(32)).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let options = LakeOptions {
        sealed: is_sealed.then_some(true),
        kek: KekSource::File(path),
        ..LakeOptions::default()
    };
    let lake = Lake::create_with(folder.path().join("lake"), options).unwrap();
    let begun = Instant::now();
    let imported = ingest::import(
        &mut lake.writer().unwrap(),
        ingest::Options::default(),
        &[sample.ndjson()],
    );
    assert_eq!(imported.unwrap().refused, 0);
    begun.elapsed()
}
