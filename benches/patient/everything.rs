//! All of a person's records, from the parameters of `$everything` to the last piece of the Bundle, without HTTP.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput};
use tabularium::lake::{Mode, PatientScope, Scope};
use tabularium::patient::everything::{Asked, Subject};
use tabularium::search::{Engine, Handling, RecordPage, raw};
use tokio::runtime::Runtime;

use crate::sample::{Sample, draw};

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let runtime = Runtime::new().unwrap();
    let ids: Vec<String> = sample
        .people
        .iter()
        .filter_map(|person| Some(person.strip_prefix("Patient/")?.to_owned()))
        .collect();
    let begun = |engine: &Engine, id: &str, query: &str, owner: bool| {
        let patient = PatientScope {
            patients: vec![id.to_owned()],
            owners: sample.lake.owners_of(&sample.scope.application, id),
            authorizations: Vec::new(),
        };
        let scope = Arc::new(Scope {
            mode: Mode::Live,
            application: sample.scope.application.clone(),
            patient: owner.then(|| Arc::new(patient)),
        });
        let subject = Subject {
            scope: &scope,
            patients: &[id.to_owned()],
            now: sample.lake.clock().now(),
            base: "http://localhost/fhir/",
        };
        let asked = Asked::parse(&raw::parse(query), Handling::Strict).unwrap();
        let path = format!("Patient/{id}/$everything");
        runtime.block_on(asked.page(engine, subject, &path)).unwrap()
    };
    let whole = |page: RecordPage| page.map(|piece| piece.unwrap().len()).sum::<usize>();
    let mut group = criterion.benchmark_group("everything");
    let resources = sample.resources() / 200;
    group.throughput(Throughput::Elements(resources)).sample_size(30);

    let engine = sample.engine();
    let mut people = draw(&ids);
    group.bench_function("one-person/hot", |bencher| {
        bencher.iter(|| black_box(whole(begun(&engine, &people.next().unwrap(), "", true))));
    });
    group.bench_function("one-person/first-piece", |bencher| {
        bencher.iter(|| {
            black_box(
                begun(&engine, &people.next().unwrap(), "", true)
                    .next()
                    .unwrap()
                    .unwrap()
                    .len(),
            )
        });
    });
    // The lake's files were opened for another person before, so only this person's rows are cold.
    let (other, others) = ids.split_first().unwrap();
    let mut cold = draw(others);
    group.bench_function("one-person/cold", |bencher| {
        bencher.iter_batched(
            || {
                let engine = sample.new_engine();
                whole(begun(&engine, other, "", true));
                (engine, cold.next().unwrap())
            },
            |(engine, id)| {
                black_box(whole(begun(&engine, &id, "", true)));
                engine
            },
            BatchSize::PerIteration,
        );
    });
    group.bench_function("one-person/application", |bencher| {
        bencher.iter(|| black_box(whole(begun(&engine, &people.next().unwrap(), "", false))));
    });

    // A hundred pages of five.
    let (mut pages, mut next) = (Vec::new(), Some("_count=5".to_owned()));
    while let Some(query) = next {
        let mut page = Vec::new();
        begun(&engine, other, &query, true).for_each(|piece| page.extend(piece.unwrap()));
        next = linked(&page);
        pages.push(query);
    }
    group.throughput(Throughput::Elements(5));
    for (name, page) in [("page/1", 0), ("page/100", 99)] {
        let query = &pages[page.min(pages.len() - 2)];
        group.bench_function(name, |bencher| {
            bencher.iter(|| black_box(whole(begun(&engine, other, query, true))));
        });
    }
    group.finish();
}

/// The query of a page's `next` link. The links are at the Bundle's end.
fn linked(page: &[u8]) -> Option<String> {
    let page: serde_json::Value = serde_json::from_slice(page).unwrap();
    let links = page["link"].as_array().unwrap();
    let next = links.iter().find(|link| link["relation"] == "next")?;
    let (_, query) = next["url"].as_str().unwrap().split_once('?')?;
    Some(query.to_owned())
}
