//! ViewDefinitions over the whole population, planned and written as CSV.

use std::sync::Arc;

use criterion::{Criterion, Throughput};
use tabularium::fhir::facts;
use tabularium::views::{Format, Resources, Run, View};
use tokio::runtime::Runtime;

use crate::sample::Sample;

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let runtime = Runtime::new().unwrap();
    let mut group = criterion.benchmark_group("view");
    for (name, definition) in [
        ("flat", include_str!("views/flat.view.json")),
        ("unnesting", include_str!("views/unnesting.view.json")),
    ] {
        let view = Arc::new(View::parse(definition.as_bytes()).unwrap());
        let table = sample
            .lake
            .table(&sample.lake.picture(), view.resource(), &sample.scope);
        let resources = sample.written[facts().get(view.resource()).name];
        group.sample_size(20).throughput(Throughput::Elements(resources));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let run = runtime
                    .block_on(Run::new(&table, view.clone(), &Resources::default(), None))
                    .unwrap();
                let csv = Format::Csv { header: true };
                run.rows().write(csv, &mut std::io::sink()).unwrap();
            });
        });
    }
    group.finish();
}
