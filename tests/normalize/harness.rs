//! Normalizes a consent's records as the room's callers do: a survey of all, a plan, and the edits of each.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};
use tabularium::columns::json::{Edits, Tape};
use tabularium::fhir::facts;
use tabularium::normalize::{Codes, Concept, Day, NoPlans, Plan, Record, Report, Settings, Source, SourceId, Survey};

/// The prefix of the tests' tag systems.
pub(crate) const BASE: &str = "https://tabularium.example";

/// The records of one consent.
#[derive(Clone, Debug)]
pub(crate) struct Consent {
    pub(crate) sources: Vec<Source>,
    pub(crate) records: Vec<(SourceId, String)>,
    /// The synced source, and the dangling references from its earlier syncs.
    pub(crate) synced: SourceId,
    pub(crate) dangling: BTreeMap<u64, u32>,
}

impl Consent {
    /// A consent with this many sources.
    pub(crate) fn new(sources: usize) -> Consent {
        let source = |at: usize| Source {
            authorization: format!("authorization-{at}"),
            endpoint: format!("endpoint-{at}"),
            fhir_base: format!("https://payer{at}.example/fhir/"),
            tag_system_base: BASE.to_owned(),
            tags: Vec::new(),
        };
        Consent {
            sources: (0..sources).map(source).collect(),
            records: Vec::new(),
            synced: SourceId(0),
            dangling: BTreeMap::new(),
        }
    }

    /// Adds a record of a source.
    pub(crate) fn with(mut self, source: u32, record: Value) -> Consent {
        self.records.push((SourceId(source), record.to_string()));
        self
    }

    /// The records as they would be stored.
    pub(crate) fn normalize(&self, codes: &dyn Codes) -> (Consent, Report) {
        let (mut after, mut report) = (self.clone(), Report::default());
        let plan = self.plan(codes);
        let mut tape = Tape::new();
        for (at, (source, text)) in self.records.iter().enumerate() {
            let root = tape.parse(text.as_bytes()).unwrap();
            let (mut edits, mut out) = (Edits::new(), Vec::new());
            let id = id(root);
            let record = record(*source, root, &id);
            if plan.rewrite(&record, codes, &mut edits, &mut out, &mut report) {
                after.records[at].1 = String::from_utf8(out).unwrap();
            }
        }
        after.dangling = report.dangling.clone();
        (after, report)
    }

    /// The plan from a survey of the records.
    pub(crate) fn plan(&self, codes: &dyn Codes) -> Plan {
        let settings = Settings {
            sources: &self.sources,
            codes,
            plans: &NoPlans,
            today: Day(20_000),
            ids: &|source, resource_type, seed| format!("{}-{resource_type}-{seed}", source.authorization),
        };
        let mut survey = Survey::default();
        survey.recall(self.synced, self.dangling.clone());
        let mut tape = Tape::new();
        for (source, text) in &self.records {
            let root = tape.parse(text.as_bytes()).unwrap();
            survey.see(&record(*source, root, &id(root)), &settings);
        }
        survey.decide(&settings)
    }

    /// The record with an id.
    pub(crate) fn get(&self, id: &str) -> Value {
        let all = self
            .records
            .iter()
            .map(|(_, text)| serde_json::from_str::<Value>(text).unwrap());
        all.into_iter().find(|record| record["id"] == id).unwrap()
    }
}

fn id(root: tabularium::columns::json::Value<'_>) -> String {
    root.get_str("id").unwrap_or_default().into_owned()
}

fn record<'t>(source: SourceId, json: tabularium::columns::json::Value<'t>, id: &'t str) -> Record<'t> {
    Record {
        resource_type: facts().lookup(&json.get_str("resourceType").unwrap()).unwrap(),
        id,
        source,
        json,
    }
}

/// A terminology of a few codes.
pub(crate) struct Few;

impl Codes for Few {
    fn display(&self, system: &str, code: &str) -> Option<Cow<'_, str>> {
        let display = match (system, code) {
            ("http://hl7.org/fhir/sid/icd-10-cm", "E11.9") => "Type 2 diabetes mellitus without complications",
            ("http://loinc.org", "8302-2") => "Body height",
            ("http://terminology.hl7.org/CodeSystem/v3-ActCode", "AMB") => "ambulatory",
            ("http://hl7.org/fhir/sid/ndc", "00002821501") => "Insulin",
            ("http://www.nlm.nih.gov/research/umls/rxnorm", "311036") => "insulin human",
            ("http://www.nlm.nih.gov/research/umls/rxnorm", "313782") => "acetaminophen",
            ("http://nucc.org/provider-taxonomy", "207Q00000X") => "Family Medicine Physician",
            _ => return None,
        };
        Some(Cow::Borrowed(display))
    }

    fn rxnorm(&self, ndc: &str) -> Option<Concept<'_>> {
        let (code, display) = match ndc {
            "00002821501" => ("311036", "insulin human"),
            // This code occurs only in the mapping.
            "55555444422" => ("313782", "acetaminophen"),
            _ => return None,
        };
        Some(Concept {
            code: Cow::Borrowed(code),
            display: Some(Cow::Borrowed(display)),
        })
    }

    fn ingredients(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn knows_ndc(&self, ndc: &str) -> bool {
        ndc == "00002821501"
    }
}

/// All resources of a JSON file: the entries of a Bundle, with `urn:uuid:` references resolved as an import does, or
/// the file's own resource.
pub(crate) fn resources(file: &std::path::Path) -> Vec<Value> {
    let mut json: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    if json["resourceType"] != "Bundle" || !json["entry"].is_array() {
        return vec![json];
    }
    let mut by_url = BTreeMap::new();
    for entry in json["entry"].as_array().unwrap() {
        if let (Some(url), Some(resource_type), Some(id)) = (
            entry["fullUrl"].as_str(),
            entry["resource"]["resourceType"].as_str(),
            entry["resource"]["id"].as_str(),
        ) {
            by_url.insert(url.to_owned(), format!("{resource_type}/{id}"));
        }
    }
    let entries = json["entry"].as_array_mut().unwrap().iter_mut();
    let resources = entries.map(|entry| entry["resource"].take());
    let mut resources: Vec<Value> = resources
        .filter(|resource| resource["resourceType"].is_string())
        .collect();
    for resource in &mut resources {
        resolve(resource, &by_url);
    }
    resources
}

fn resolve(value: &mut Value, by_url: &BTreeMap<String, String>) {
    match value {
        Value::Object(object) => {
            if let Some(reference) = object.get_mut("reference")
                && let Some(target) = reference.as_str().and_then(|text| by_url.get(text))
            {
                *reference = json!(target);
            }
            object.values_mut().for_each(|value| resolve(value, by_url));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| resolve(value, by_url)),
        _ => {}
    }
}

/// All JSON files below a folder, sorted.
pub(crate) fn json_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
