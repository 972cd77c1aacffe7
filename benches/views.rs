//! ViewDefinitions over the whole population: planning alone; planning, computing and writing CSV; and from NDJSON
//! directly to CSV.

use std::io::sink;
use std::ops::Range;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use tabularium::fhir::facts;
use tabularium::views::{Document, Format, Refused, Resources, Rows, Run, View};
use tokio::runtime::Runtime;

use crate::sample::Sample;

/// The views of the comparison with other programs, and whether a resource gives one row. If so, resources are counted.
pub(crate) const VIEWS: [(&str, &str, bool); 6] = [
    ("patients", include_str!("views/patients.view.json"), true),
    ("observations", include_str!("views/observations.view.json"), true),
    ("blood_pressure", include_str!("views/blood_pressure.view.json"), false),
    (
        "eob_adjudication",
        include_str!("views/eob_adjudication.view.json"),
        false,
    ),
    (
        "condition_codings",
        include_str!("views/condition_codings.view.json"),
        false,
    ),
    (
        "encounter_participants",
        include_str!("views/encounter_participants.view.json"),
        false,
    ),
];

/// The number of bytes read at a time.
const PIECE: usize = 1 << 20;

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let runtime = Runtime::new().unwrap();
    let plan = |view: Arc<View>| {
        let table = sample
            .lake
            .table(&sample.lake.snapshot(), view.resource(), &sample.scope);
        runtime
            .block_on(Run::new(&table, view, &Resources::default(), None))
            .unwrap()
    };
    let parse = |definition: &str| Arc::new(View::parse(definition.as_bytes()).unwrap());

    let mut group = criterion.benchmark_group("view/plan");
    for (name, definition, _) in VIEWS {
        group.bench_function(name, |bencher| bencher.iter(|| plan(parse(definition))));
    }
    group.finish();

    let mut group = criterion.benchmark_group("view/ndjson");
    group.sample_size(20);
    for (name, definition, _) in VIEWS {
        let view = parse(definition);
        let file = format!("{}.ndjson", facts().get(view.resource()).name);
        let text: Arc<[u8]> = std::fs::read(sample.ndjson().join(file)).unwrap().into();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                Rows::of_documents(view.clone(), pieces(text.clone()), None)
                    .write(Format::Csv { header: true }, &mut sink())
                    .unwrap()
            });
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("view/csv");
    group.sample_size(20);
    for (name, definition, flat) in VIEWS {
        let view = parse(definition);
        let elements = if flat {
            sample.written[facts().get(view.resource()).name]
        } else {
            plan(view.clone())
                .rows()
                .batches()
                .map(|batch| batch.unwrap().num_rows() as u64)
                .sum()
        };
        group.throughput(Throughput::Elements(elements));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                plan(view.clone())
                    .rows()
                    .write(Format::Csv { header: true }, &mut sink())
                    .unwrap()
            });
        });
    }
    group.finish();
}

/// The lines of a text.
struct Lines {
    text: Arc<[u8]>,
    range: Range<usize>,
}

impl Document for Lines {
    fn text(&self) -> &[u8] {
        &self.text[self.range.clone()]
    }

    fn is_lines(&self) -> bool {
        true
    }

    fn refuse(&self, offset: usize, reason: Refused) {
        panic!("{reason} at {offset}");
    }
}

/// A text in pieces of whole lines, as from a file.
fn pieces(text: Arc<[u8]>) -> impl Iterator<Item = Lines> + Send {
    let mut at = 0;
    std::iter::from_fn(move || {
        let aim = (at + PIECE).min(text.len());
        let end = text[aim..].iter().position(|byte| *byte == b'\n');
        let range = at..end.map_or(text.len(), |end| aim + end + 1);
        at = range.end;
        (!range.is_empty()).then(|| Lines {
            text: text.clone(),
            range,
        })
    })
}
