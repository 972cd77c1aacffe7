//! Searches from their parameters to the Bundle, without HTTP.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};
use tokio::runtime::Runtime;

use crate::sample::{PULSE, Sample, draw};

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let runtime = Runtime::new().unwrap();
    let mut group = criterion.benchmark_group("search");
    let one_person = |person: &str| format!("patient={person}&code={PULSE}&_sort=-date&_count=20");

    let engine = sample.engine();
    let mut people = draw(&sample.people);
    group.bench_function("one-person/hot", |bencher| {
        bencher.iter(|| {
            let query = one_person(&people.next().unwrap());
            black_box(runtime.block_on(sample.search(&engine, &query)))
        });
    });

    // The lake's files were opened for another person before, so only this person's rows are cold.
    let (other, people) = sample.people.split_first().unwrap();
    let mut people = draw(people);
    group.bench_function("one-person/cold", |bencher| {
        bencher.iter_batched(
            || {
                let engine = sample.new_engine();
                runtime.block_on(sample.search(&engine, &one_person(other)));
                (engine, one_person(&people.next().unwrap()))
            },
            |(engine, query)| {
                black_box(runtime.block_on(sample.search(&engine, &query)));
                engine
            },
            BatchSize::PerIteration,
        );
    });

    let whole = Throughput::Elements(sample.observations.len() as u64);
    group.throughput(whole).sample_size(30);
    let queries = [
        (
            "population/newest-of-a-code",
            format!("code={PULSE}&_sort=-date&_count=20"),
        ),
        (
            "population/newest-of-a-quarter",
            "category=vital-signs&date=ge2023&_sort=-date&_count=20".to_owned(),
        ),
        ("count/by-code", format!("code={PULSE}&_summary=count")),
        ("count/by-system", "code=http://loinc.org|&_summary=count".to_owned()),
    ];
    for (name, query) in queries {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, &query))));
        });
    }

    // As many ids as in a cohort. The sample has fewer people, so most ids are found nowhere.
    let known = sample.people.iter().cloned();
    let nobody = (sample.people.len()..1_000).map(|at| format!("Patient/nobody-{at}"));
    let cohort: Vec<String> = known.chain(nobody).collect();
    let observations: Vec<String> = draw(&sample.observations).take(1_000).collect();
    let queries = [
        (
            "others/code-of-1000-patients",
            "Observation",
            format!("code={PULSE}&subject={}&_summary=count", cohort.join(",")),
        ),
        (
            "others/1000-ids",
            "Observation",
            format!("_id={}&_summary=count", observations.join(",")),
        ),
        (
            "others/chain-to-patients",
            "Observation",
            format!("code={PULSE}&subject:Patient.gender=female&_summary=count"),
        ),
        (
            "others/chain-to-encounters",
            "Observation",
            format!("code={PULSE}&encounter.class=AMB&_summary=count"),
        ),
        (
            "others/has",
            "Patient",
            format!("_has:Observation:patient:code={PULSE}&_summary=count"),
        ),
        (
            "others/has-in-has",
            "Patient",
            format!("_has:Encounter:patient:_has:Observation:encounter:code={PULSE}&_summary=count"),
        ),
    ];
    for (name, resource_type, query) in queries {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(sample.search_of(&engine, resource_type, &query))));
        });
    }
    group.finish();
    pages(criterion, sample, &runtime);
    few(criterion, &runtime);
}

/// Searches of few rows: most of the time is the fixed cost of a search. Two of them also run in other ways, over a
/// scan or through DataFusion's planner.
fn few(criterion: &mut Criterion, runtime: &Runtime) {
    let sample = Sample::of(60);
    let engine = sample.engine();
    let person = sample.people[0].as_str();
    let mut group = criterion.benchmark_group("few");
    let newest = "_sort=-date&_count=20";
    let one_type = [
        ("person/columns", format!("patient={person}&code={PULSE}&{newest}")),
        ("person/scan", format!("patient={person},nobody&code={PULSE}&{newest}")),
        ("sorted/direct", format!("code={PULSE}&{newest}")),
        ("page/direct", format!("code={PULSE}&_count=20")),
        (
            "page/with-include",
            format!("code={PULSE}&_count=20&_include=Observation:subject"),
        ),
        ("count/direct", format!("code={PULSE}&_summary=count")),
        ("chain", format!("code={PULSE}&subject:Patient.gender=female&_count=20")),
    ];
    for (name, query) in one_type {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, &query))));
        });
    }
    // A merged search of one type goes through DataFusion's planner.
    let several_types = [
        (
            "person/planned",
            format!("_type=Observation&patient={person},nobody&code={PULSE}&{newest}"),
        ),
        ("sorted/planned", format!("_type=Observation&code={PULSE}&{newest}")),
    ];
    for (name, query) in several_types {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(sample.search_types(&engine, &query))));
        });
    }
    group.finish();
}

/// Pages of a thousand: a walk through a frequent category, its first and its last page, and the includes of matches.
fn pages(criterion: &mut Criterion, sample: &Sample, runtime: &Runtime) {
    let engine = sample.engine();
    let mut group = criterion.benchmark_group("pages");
    group.sample_size(20);
    let first = "category=vital-signs&_count=1000".to_owned();
    let walk = |from: &str| {
        let (mut pages, mut next) = (Vec::new(), Some(from.to_owned()));
        while let Some(query) = next {
            let page = runtime.block_on(sample.page(&engine, &query));
            next = linked(&page, "next");
            pages.push(query);
        }
        pages
    };
    let pages = walk(&first);
    let last = pages.last().unwrap().clone();
    group.bench_function("first", |bencher| {
        bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, &first))));
    });
    group.bench_function("one-before-last", |bencher| {
        let page = &pages[pages.len().saturating_sub(2)];
        bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, page))));
    });
    group.bench_function("previous-of-last", |bencher| {
        let page = runtime.block_on(sample.page(&engine, &last));
        let previous = linked(&page, "previous").unwrap();
        bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, &previous))));
    });
    let sorted = walk("code=http://loinc.org|8867-4&_sort=-date&_count=1000");
    group.bench_function("sorted-one-before-last", |bencher| {
        let page = &sorted[sorted.len().saturating_sub(2)];
        bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, page))));
    });
    let along = "_include=Observation:subject&_include=Observation:encounter";
    for (name, query) in [
        ("with-includes", format!("{first}&{along}")),
        (
            "rare-code-with-includes",
            format!("code=http://loinc.org|4548-4&_count=1000&{along}"),
        ),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(runtime.block_on(sample.search(&engine, &query))));
        });
    }
    let matches = (pages.len() as u64 - 1) * 1000;
    group.throughput(Throughput::Elements(matches));
    group.bench_function("walk", |bencher| bencher.iter(|| black_box(walk(&first).len())));
    group.finish();
}

/// The query of a page's link. The links are at the Bundle's start.
fn linked(page: &[u8], relation: &str) -> Option<String> {
    let head = String::from_utf8_lossy(&page[..page.len().min(4096)]).into_owned();
    let (_, link) = head.split_once(&format!("\"relation\":\"{relation}\",\"url\":\""))?;
    let url = link.split('"').next()?;
    url.split_once('?').map(|(_, query)| query.to_owned())
}
