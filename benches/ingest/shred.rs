//! From NDJSON to the tape, to columns, and to a file, on one thread without a lake.

use std::hint::black_box;

use arrow::array::RecordBatch;
use criterion::{BatchSize, Criterion, Throughput};
use tabularium::columns::json::{Choice, Chosen, Tape};
use tabularium::columns::layout::Layout;
use tabularium::columns::shred::{Clip, Shredder, SystemValues};
use tabularium::fhir::facts;
use tabularium::lake::Keys;
use tabularium::lake::file::write_file;

use crate::sample::Sample;

/// The number of rows of each type.
const ROWS: usize = 8_192;

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    for name in ["Observation", "ExplanationOfBenefit"] {
        let type_id = facts().lookup(name).unwrap();
        let text = std::fs::read_to_string(sample.ndjson().join(format!("{name}.ndjson"))).unwrap();
        let lines: Vec<&str> = text.lines().take(ROWS).collect();
        let bytes: usize = lines.iter().map(|line| line.len()).sum();
        let mut group = criterion.benchmark_group(format!("shred/{name}"));
        group.sample_size(20).throughput(Throughput::Bytes(bytes as u64));

        let mut tape = Tape::new();
        group.bench_function("tape", |bencher| {
            bencher.iter(|| {
                for line in &lines {
                    black_box(tape.parse(line.as_bytes()).unwrap());
                }
            });
        });
        let mut shredder = Shredder::new(type_id);
        group.bench_function("columns", |bencher| {
            bencher.iter(|| shred(&mut shredder, &mut tape, &lines))
        });
        for (bench, named) in [("columns-named", name), ("skipped", "Basic")] {
            let clip = clip(named);
            let mut choice = Choice::new("resourceType", [(named, clip.selection().clone())]);
            let mut shredder = Shredder::clipped(&clip);
            group.bench_function(bench, |bencher| {
                bencher.iter(|| shred_named(&mut shredder, &mut tape, &mut choice, &lines))
            });
        }
        let batch = shred(&mut shredder, &mut tape, &lines);
        let schema = Layout::new(type_id).adopt(batch.schema_ref()).unwrap().schema;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.parquet");
        group.bench_function("file", |bencher| {
            bencher.iter_batched(
                || drop(std::fs::remove_file(&path)),
                |()| write_file(&path, type_id, &schema, [&batch], &Keys::none()).unwrap(),
                BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

/// The leaves of a type that a typical view reads.
fn clip(resource_type: &str) -> Clip {
    let leaves: &[&str] = match resource_type {
        "Observation" => &[
            "subject.reference__id",
            "effectiveDateTime",
            "code.coding.code",
            "valueQuantity.value",
        ],
        "ExplanationOfBenefit" => &[
            "item.sequence",
            "item.productOrService.coding.code",
            "item.adjudication.amount.value",
        ],
        _ => &[],
    };
    let leaves = leaves.iter().map(|leaf| (*leaf).to_owned()).collect();
    Clip::new(facts().lookup(resource_type).unwrap(), &leaves)
}

fn shred_named(shredder: &mut Shredder, tape: &mut Tape, choice: &mut Choice, lines: &[&str]) -> RecordBatch {
    for line in lines {
        if let Chosen::Selected(_, root) = tape.choose(line.as_bytes(), choice).unwrap() {
            let id = root.get_str("id").unwrap_or_default();
            shredder.push(&SystemValues::outside(&id, ""), root).unwrap();
        }
    }
    shredder.finish().unwrap()
}

fn shred(shredder: &mut Shredder, tape: &mut Tape, lines: &[&str]) -> RecordBatch {
    for line in lines {
        let root = tape.parse(line.as_bytes()).unwrap();
        let id = root.get_str("id").unwrap_or_default();
        let system = SystemValues::outside(&id, line);
        shredder.push(&system, root).unwrap();
    }
    shredder.finish().unwrap()
}
