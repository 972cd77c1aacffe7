//! Normalization of real records by all rules on one core: the survey of a consent, and the edits of its records. It is
//! skipped unless `$TABULARIUM_SHARED` is set.

use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput};
use serde_json::Value;
use tabularium::columns::json::{Edits, Tape, Value as Json, write_compact};
use tabularium::fhir::facts;
use tabularium::normalize::{Day, NoCodes, NoPlans, Record, Report, Settings, Source, SourceId, Survey};

pub(crate) fn benches(criterion: &mut Criterion) {
    let Some(shared) = std::env::var_os("TABULARIUM_SHARED").map(PathBuf::from) else {
        println!("skipped normalize: TABULARIUM_SHARED is not set");
        return;
    };
    let mut group = criterion.benchmark_group("normalize");
    for folder in ["synthea", "carin"] {
        let consents = consents(&shared.join("data").join(folder));
        let resources = consents.iter().map(Vec::len).sum::<usize>();
        group.throughput(Throughput::Elements(resources as u64));
        group.bench_function(format!("{folder}/all-rules"), |bencher| {
            bencher.iter(|| consents.iter().map(|consent| normalize(consent)).sum::<usize>());
        });
    }
}

/// Surveys a consent and writes its records. Returns their length.
pub(crate) fn normalize(texts: &[String]) -> usize {
    let sources = [Source {
        authorization: "a".into(),
        endpoint: "e".into(),
        fhir_base: "https://payer.example/fhir/".into(),
        tag_system_base: "https://tabularium.example".into(),
        tags: Vec::new(),
    }];
    let settings = Settings {
        sources: &sources,
        codes: &NoCodes,
        plans: &NoPlans,
        today: Day(20_000),
        ids: &|_, _, seed| seed.to_owned(),
    };
    let mut survey = Survey::default();
    let mut tape = Tape::new();
    let places: Vec<u32> = texts.iter().map(|text| tape.append(text).unwrap()).collect();
    let records = || texts.iter().zip(&places).map(|(text, place)| tape.value(*place, text));
    records().for_each(|json| each(json, |record| survey.see(record, &settings)));
    let plan = survey.decide(&settings);
    let (mut edits, mut report, mut out) = (Edits::new(), Report::default(), Vec::new());
    let mut length = 0;
    for json in records() {
        each(json, |record| {
            if !plan.rewrite(record, &NoCodes, &mut edits, &mut out, &mut report) {
                write_compact(record.json, &mut out, &edits);
            }
            length += out.len();
        });
    }
    length
}

fn each(json: Json<'_>, then: impl FnOnce(&Record<'_>)) {
    let (Some(resource_type), Some(id)) = (json.get_str("resourceType"), json.get_str("id")) else {
        return;
    };
    then(&Record {
        resource_type: facts().lookup(&resource_type).unwrap(),
        id: &id,
        source: SourceId(0),
        json,
    });
}

/// The resources of each file, compact.
fn consents(folder: &Path) -> Vec<Vec<String>> {
    let mut consents = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "json") {
                let json: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
                let entries = json["entry"].as_array().into_iter().flatten();
                let own = [&json].into_iter().filter(|json| json["resourceType"] != "Bundle");
                let resources = entries.map(|entry| &entry["resource"]).chain(own);
                let resources = resources.filter(|resource| resource["resourceType"].is_string());
                consents.push(resources.map(Value::to_string).collect());
            }
        }
    }
    consents
}
