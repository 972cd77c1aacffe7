//! A resource by its id, without HTTP.

use std::hint::black_box;

use criterion::Criterion;

use crate::sample::{Sample, draw, observation};

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let table = sample.lake.table(&sample.lake.snapshot(), observation(), &sample.scope);
    let mut ids = draw(&sample.observations);
    criterion.bench_function("read/by-id", |bencher| {
        bencher.iter(|| {
            let row = table.read(&ids.next().unwrap()).unwrap();
            assert!(black_box(row).is_some());
        });
    });
}
