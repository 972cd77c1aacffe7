//! Documents of all of a person's records: the patient summary and the PDF.

use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use criterion::{Criterion, Throughput};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tabularium::fhir::facts;
use tabularium::lake::scan::Row;
use tabularium::lake::{Mode, PatientScope, Scope};
use tabularium::patient::Record;
use tabularium::patient::pdf::apart::Bounds;
use tabularium::patient::pdf::{
    Attached, Documents, Export, FetchError, Form, Part, Reader, Source, SourceKind, Stop, made, rendering,
};
use tabularium::patient::summary::{Sections, Subject, summary};
use tabularium::search::Gathered;
use tokio::runtime::Runtime;

use crate::sample::Sample;

const ROWS: usize = 10_000;
const FILES: usize = 200;
const MIB: usize = 1 << 20;

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    summaries(criterion, sample);
    pages(criterion);
}

fn summaries(criterion: &mut Criterion, sample: &Sample) {
    let runtime = Runtime::new().unwrap();
    let engine = sample.engine();
    let ids = sample
        .people
        .iter()
        .filter_map(|person| person.strip_prefix("Patient/"));
    let patients: Vec<String> = ids.take(2).map(str::to_owned).collect();
    let owners = patients
        .iter()
        .flat_map(|id| sample.lake.owners_of(&sample.scope.application, id));
    let scope = Arc::new(Scope {
        mode: Mode::Live,
        application: sample.scope.application.clone(),
        patient: Some(Arc::new(PatientScope {
            patients: patients.clone(),
            owners: owners.collect(),
            authorizations: Vec::new(),
        })),
    });
    let made = || {
        let subject = Subject {
            scope: &scope,
            patients: &patients,
            now: sample.lake.clock().now(),
            base_url: "http://localhost",
            directory: &(),
        };
        runtime.block_on(summary(&engine, subject, Sections::ALL)).unwrap()
    };
    let mut group = criterion.benchmark_group("summary");
    group.sample_size(30);
    group.bench_function("document", |bencher| {
        bencher.iter(|| black_box(made().bundle(None).len()))
    });
    group.bench_function("with-pages", |bencher| {
        bencher.iter(|| {
            let made = made();
            black_box(made.bundle(Some(&rendering(&made, Stop::default()).unwrap())).len())
        });
    });
    group.finish();
}

fn pages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pdf");
    group.sample_size(10).measurement_time(Duration::from_secs(20));
    let observations = record("Observation", ROWS, |at| {
        format!(
            r#"{{"resourceType":"Observation","id":"o{at}","status":"final","category":[{{"coding":[{{"code":"laboratory"}}]}}],"code":{{"text":"Glucose [Mass/volume] in Serum or Plasma"}},"effectiveDateTime":"20{:02}-03-04","valueQuantity":{{"value":{},"unit":"mg/dL"}}}}"#,
            at % 25,
            at % 300
        )
    });
    group.throughput(Throughput::Elements(ROWS as u64));
    group.bench_function("rows", |bencher| bencher.iter(|| black_box(drawn(&observations, &()))));
    let documents = record("DocumentReference", FILES, |at| {
        format!(
            r#"{{"resourceType":"DocumentReference","id":"d{at}","status":"current","content":[{{"attachment":{{"contentType":"application/pdf","url":"Binary/{at}","title":"Letter {at}"}}}}]}}"#
        )
    });
    let file = File(file());
    group.throughput(Throughput::Bytes((FILES * MIB) as u64));
    group.bench_function("attachments", |bencher| {
        bencher.iter(|| black_box(drawn(&documents, &file)))
    });
    group.finish();
}

/// A record of a Patient and many resources of one type.
fn record(name: &str, count: usize, text: impl Fn(usize) -> String) -> Record {
    let gathered = |name: &str, texts: Vec<String>| Gathered {
        type_id: facts().lookup(name).unwrap(),
        is_referred: false,
        rows: texts
            .into_iter()
            .enumerate()
            .map(|(at, text)| Row {
                id: at.to_string(),
                resource: text.into(),
                version: 1,
                last_updated: 0,
            })
            .collect(),
    };
    let patient = r#"{"resourceType":"Patient","id":"p","name":[{"family":"Roe"}]}"#.to_owned();
    Record {
        snapshot: 1,
        types: vec![
            gathered("Patient", vec![patient]),
            gathered(name, (0..count).map(text).collect()),
        ],
    }
}

fn drawn(record: &Record, documents: &dyn Documents) -> usize {
    let source = Source {
        label: "Source".to_owned(),
        name: "source".to_owned(),
        kind: SourceKind::Connected,
        missing: Vec::new(),
    };
    let parts = [Part {
        source: &source,
        record: Some(record),
        documents,
    }];
    let reader = Reader {
        program: env!("CARGO_BIN_EXE_tabularium").into(),
        bounds: Bounds::default(),
    };
    let export = Export::new(DateTime::default(), "Tabularium");
    let (file, export) = made(&reader, export, &parts, Form::Document, || Cursor::new(Vec::new()));
    assert!(export.unwrap().failed.is_empty());
    file.into_inner().len()
}

/// A provider with the same file at all addresses.
struct File(Vec<u8>);

impl Documents for File {
    fn get(&self, _: &str, _: u64) -> Result<Attached, FetchError> {
        Ok(Attached {
            content_type: None,
            bytes: self.0.clone(),
        })
    }
}

/// A one-page PDF file with a picture of a MiB that does not compress.
fn file() -> Vec<u8> {
    let mut picture = vec![0; MIB];
    ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut picture);
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    let mut object = |out: &mut Vec<u8>, head: &str, stream: &[u8]| {
        places.push(out.len());
        out.extend(format!("{} 0 obj\n{head}\n", places.len()).bytes());
        if !stream.is_empty() {
            out.extend([b"stream\n", stream, b"\nendstream\n"].concat());
        }
        out.extend(b"endobj\n");
    };
    object(&mut out, "<< /Type /Catalog /Pages 2 0 R >>", &[]);
    object(&mut out, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", &[]);
    let page = "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /XObject << /P 5 0 R >> >> >>";
    object(&mut out, page, &[]);
    object(&mut out, "<< /Length 30 >>", b"q 512 0 0 682 50 50 cm /P Do Q");
    let head = format!(
        "<< /Type /XObject /Subtype /Image /Width 1024 /Height 1024 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length {MIB} >>"
    );
    object(&mut out, &head, &picture);
    let table = out.len();
    out.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
    for place in &places {
        out.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = places.len() + 1;
    out.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n").bytes());
    out
}
