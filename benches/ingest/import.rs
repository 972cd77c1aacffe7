//! NDJSON into an empty lake.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput};

use crate::sample::{Sample, import_into};

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let mut group = criterion.benchmark_group("import");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(sample.resources()));
    group.bench_function("ndjson", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().unwrap(),
            |folder| {
                black_box(import_into(folder.path(), &sample.ndjson()));
                folder
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}
