//! A health card, from the records in the lake to the signed text, without HTTP.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use serde_json::{Map, json};
use tabularium::consent::{Clock, KeyPurpose, Store};
use tabularium::lake::{Mode, PatientScope, Scope};
use tabularium::patient::card::{Request, Resource, payload};
use tabularium::patient::{REFERRED, Record, record};
use tokio::runtime::Runtime;

use crate::sample::Sample;

const REQUEST: Request<'_> = Request {
    issuer: "https://records.example/health-cards",
    fhir_base: "https://records.example/fhir/",
    issued_at: 1_800_000_000,
    rid: "benchbenchbench1",
};

/// The minimum number of resources of the card.
const RESOURCES: usize = 1_000;

pub(crate) fn benches(criterion: &mut Criterion, sample: &Sample) {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), Clock::System).unwrap();
    let engine = sample.engine();
    // Enough people for the card, as if one consent had all of them.
    let ids: Vec<String> = sample
        .people
        .iter()
        .filter_map(|person| Some(person.strip_prefix("Patient/")?.to_owned()))
        .collect();
    let read = |patients: &[String]| -> Record {
        let owners = |id: &String| sample.lake.owners_of(&sample.scope.application, id);
        let scope = Arc::new(Scope {
            mode: Mode::Live,
            application: sample.scope.application.clone(),
            patient: Some(Arc::new(PatientScope {
                patients: patients.to_vec(),
                owners: patients.iter().flat_map(owners).collect(),
                authorizations: Vec::new(),
            })),
        });
        let now = sample.lake.clock().now();
        runtime
            .block_on(record(&engine, &scope, patients, &REFERRED, now))
            .unwrap()
    };
    let enough = (1..=ids.len()).find(|count| read(&ids[..*count]).len() >= RESOURCES);
    let patients = &ids[..enough.unwrap_or(ids.len())];
    let resources = read(patients).len();
    let mut group = criterion.benchmark_group("cards");
    group.throughput(Throughput::Elements(resources as u64)).sample_size(30);
    group.bench_function("1,000-resources", |bencher| {
        bencher.iter(|| {
            let made = card(&read(patients));
            let header = Map::from_iter([("zip".to_owned(), json!("DEF"))]);
            black_box(store.es256_keys().sign(KeyPurpose::HealthCard, header, &made).unwrap())
        });
    });
    let whole = read(patients);
    group.bench_function("1,000-resources/payload", |bencher| {
        bencher.iter(|| black_box(card(&whole)));
    });
    group.finish();
}

fn card(record: &Record) -> Vec<u8> {
    let mut resources = Vec::with_capacity(record.len());
    for gathered in &record.types {
        resources.extend(gathered.rows.iter().map(|row| Resource {
            resource_type: gathered.type_id,
            id: &row.id,
            text: &row.resource,
        }));
    }
    payload(&REQUEST, &resources).unwrap()
}
