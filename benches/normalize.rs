//! The rules of normalization over real records: the survey of each person and the decision. Needs the folder of
//! `$TABULARIUM_SHARED`; without it nothing is measured.

use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput};
use serde_json::Value;
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::json::Tape;
use tabularium::normalize::{Day, NoCodes, NoPlans, Record, Settings, Source, SourceId, Survey};

/// A record's type, id and text.
type Text = (TypeId, String, Vec<u8>);

pub(crate) fn benches(criterion: &mut Criterion) {
    let Some(shared) = std::env::var_os("TABULARIUM_SHARED") else {
        return;
    };
    let data = PathBuf::from(shared).join("data");
    let mut group = criterion.benchmark_group("normalize");
    for (name, folders) in [
        ("synthea", &["synthea", "synthea-2021"][..]),
        ("carin", &["carin/ig-2.0.0", "carin/inferno"]),
    ] {
        let texts: Vec<Text> = folders.iter().flat_map(|folder| records(&data.join(folder))).collect();
        let mut tapes: Vec<Tape> = texts.iter().map(|_| Tape::new()).collect();
        let parsed = texts
            .iter()
            .zip(&mut tapes)
            .map(|((resource_type, id, text), tape)| Record {
                resource_type: *resource_type,
                id,
                source: SourceId(0),
                json: tape.parse(text).unwrap(),
            });
        let parsed: Vec<Record<'_>> = parsed.collect();
        group.throughput(Throughput::Elements(parsed.len() as u64));
        group.bench_function(format!("{name}/decide"), |bencher| bencher.iter(|| decide(&parsed)));
    }
    group.finish();
}

/// Surveys the records and decides; how much was made.
fn decide(records: &[Record<'_>]) -> usize {
    let sources = [Source {
        authorization: "a".to_owned(),
        endpoint: "e".to_owned(),
        fhir_base: "https://source.example/fhir/".to_owned(),
        tag_system_base: "https://records.example".to_owned(),
        tags: Vec::new(),
    }];
    let settings = Settings {
        sources: &sources,
        codes: &NoCodes,
        plans: &NoPlans,
        today: Day(20_000),
        ids: &|_, _, seed| format!("{:016x}", siphasher::sip::SipHasher24::new().hash(seed.as_bytes())),
    };
    let mut survey = Survey::default();
    records.iter().for_each(|record| survey.see(record, &settings));
    survey.decide(&settings).generated.len()
}

/// The resources of a folder's files, entries of Bundles one by one.
fn records(folder: &Path) -> Vec<Text> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let entries = document["entry"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| &entry["resource"]);
        for resource in entries.chain([&document]) {
            let resource_type = resource["resourceType"].as_str().and_then(|name| facts().lookup(name));
            if let (Some(resource_type), Some(id)) = (resource_type, resource["id"].as_str())
                && resource["resourceType"] != "Bundle"
            {
                found.push((resource_type, id.to_owned(), resource.to_string().into_bytes()));
            }
        }
    }
    found
}
