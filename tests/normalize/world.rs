//! The records of one consent, surveyed as in a sync, and the generated resources.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabularium::columns::json::Tape;
use tabularium::fhir::facts;
use tabularium::normalize::{Codes, Day, NoCodes, NoPlans, Plan, Plans, Record, Settings, Source, SourceId, Survey};

/// The start of the tests' tag systems.
pub(crate) const BASE: &str = "https://records.example";

/// The records of one consent.
pub(crate) struct World<'w> {
    pub(crate) records: Vec<(u32, Value)>,
    pub(crate) today: &'static str,
    pub(crate) codes: &'w dyn Codes,
    pub(crate) plans: &'w dyn Plans,
}

impl Default for World<'_> {
    fn default() -> Self {
        World {
            records: Vec::new(),
            today: "2026-11-23",
            codes: &NoCodes,
            plans: &NoPlans,
        }
    }
}

impl World<'_> {
    /// A world of some files below the folder of real records.
    pub(crate) fn of(data: &Path, files: &[&str]) -> Self {
        let mut world = World::default();
        for file in files {
            world.file(&data.join(file));
        }
        world
    }

    /// Adds a resource, or the entries of a Bundle with `urn:uuid:` references resolved as by an import.
    pub(crate) fn file(&mut self, file: &Path) {
        let text = std::fs::read_to_string(file).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        if document["resourceType"] != "Bundle" {
            return self.put(0, document);
        }
        let entries = document["entry"].as_array().cloned().unwrap_or_default();
        let mut names = BTreeMap::new();
        for entry in &entries {
            let resource = &entry["resource"];
            if let (Some(url), Some(id)) = (entry["fullUrl"].as_str(), resource["id"].as_str()) {
                names.insert(url, format!("{}/{id}", resource["resourceType"].as_str().unwrap()));
            }
        }
        for entry in &entries {
            let mut resource = entry["resource"].clone();
            relink(&mut resource, &names);
            self.put(0, resource);
        }
    }

    /// Adds a record of a source.
    pub(crate) fn put(&mut self, source: u32, resource: Value) {
        if resource["id"].is_string() {
            self.records.push((source, resource));
        }
    }

    /// The seeds of the requested ids, sorted, each after its authorization and a space.
    pub(crate) fn seeds(&self) -> Vec<String> {
        let seeds = std::sync::Mutex::new(std::collections::BTreeSet::new());
        self.decide(&|source, _, seed| {
            seeds.lock().unwrap().insert(format!("{} {seed}", source.authorization));
            String::new()
        });
        seeds.into_inner().unwrap().into_iter().collect()
    }

    /// Surveys the records in order and makes the plan.
    pub(crate) fn run(&self) -> Made {
        Made::new(self.decide(&|source, resource_type, seed| {
            let mut hasher = DefaultHasher::new();
            (&source.authorization, resource_type, seed).hash(&mut hasher);
            format!("{:016x}", hasher.finish())
        }))
    }

    fn decide(&self, ids: &dyn Fn(&Source, &str, &str) -> String) -> Plan {
        let sources: Vec<Source> = ["a", "b"].into_iter().map(source).collect();
        let settings = Settings {
            sources: &sources,
            codes: self.codes,
            plans: self.plans,
            today: day(self.today),
            ids,
        };
        let mut survey = Survey::default();
        let mut tape = Tape::new();
        for (source, resource) in &self.records {
            let Some(resource_type) = facts().lookup(resource["resourceType"].as_str().unwrap()) else {
                continue;
            };
            let text = resource.to_string();
            let json = tape.parse(text.as_bytes()).unwrap();
            let record = Record {
                resource_type,
                id: resource["id"].as_str().unwrap(),
                source: SourceId(*source),
                json,
            };
            survey.see(&record, &settings);
        }
        survey.decide(&settings)
    }
}

/// The generated resources.
pub(crate) struct Made {
    pub(crate) plan: Plan,
    resources: Vec<Value>,
}

impl Made {
    fn new(plan: Plan) -> Made {
        let parse = |generated: &tabularium::normalize::Generated| {
            let resource: Value = serde_json::from_str(&generated.json).unwrap();
            assert_eq!(resource["id"], generated.id.as_str());
            assert_eq!(resource["resourceType"], facts().get(generated.resource_type).name);
            resource
        };
        let resources = plan.generated.iter().map(parse).collect();
        Made { plan, resources }
    }

    /// The resources of a type, unchanged.
    pub(crate) fn whole(&self, resource_type: &str) -> Vec<Value> {
        let of = |resource: &&Value| resource["resourceType"] == resource_type;
        self.resources.iter().filter(of).cloned().collect()
    }

    /// The resources of a type without id and meta. References to generated resources are replaced by names: a code or
    /// a day.
    pub(crate) fn of(&self, resource_type: &str) -> Vec<Value> {
        let names: BTreeMap<String, String> = self
            .resources
            .iter()
            .map(|resource| (full(resource), name(resource)))
            .collect();
        let names = names.iter().map(|(id, name)| (id.as_str(), name.clone())).collect();
        let mut found = self.whole(resource_type);
        found.sort_by_key(name);
        for resource in &mut found {
            relink(resource, &names);
            let resource = resource.as_object_mut().unwrap();
            for name in ["id", "meta", "resourceType"] {
                resource.remove(name);
            }
        }
        found
    }

    /// The only resource of a type.
    pub(crate) fn only(&self, resource_type: &str) -> Value {
        let mut found = self.of(resource_type);
        assert_eq!(found.len(), 1, "{found:#?}");
        found.remove(0)
    }

    /// The number of resources of each type.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for resource in &self.resources {
            *counts
                .entry(resource["resourceType"].as_str().unwrap().to_owned())
                .or_default() += 1;
        }
        counts
    }

    /// The additions to a record of a source: element and item.
    pub(crate) fn additions(&self, resource_type: &str, id: &str) -> Vec<(&'static str, Value)> {
        let key = (facts().lookup(resource_type).unwrap(), id.to_owned());
        let additions = self.plan.additions.get(&key).into_iter().flatten();
        let parse = |json: &str| serde_json::from_str(json).unwrap();
        additions
            .map(|addition| (addition.element, parse(&addition.json)))
            .collect()
    }
}

/// A source of the tests.
fn source(name: &str) -> Source {
    Source {
        authorization: format!("authorization-{name}"),
        endpoint: name.to_owned(),
        fhir_base: format!("https://{name}.example/fhir/"),
        tag_system_base: BASE.to_owned(),
        tags: vec![json!({"system": format!("{BASE}/EndpointId"), "code": name}).to_string()],
    }
}

/// A day.
pub(crate) fn day(date: &str) -> Day {
    let date = chrono::NaiveDate::parse_from_str(date, "%Y-%m-%d").unwrap();
    Day(date.to_epoch_days())
}

/// The files of a folder, sorted.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_some_and(|end| end == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A CodeableConcept of one coding, whose display is also its text.
pub(crate) fn concept(system: &str, code: &str, display: &str) -> Value {
    json!({"coding": [{"system": system, "code": code, "display": display}], "text": display})
}

/// A CodeableConcept of one coding of HL7's terminology with a display.
pub(crate) fn hl7(system: &str, code: &str, display: &str) -> Value {
    json!({"coding": [{"system": format!("http://terminology.hl7.org/CodeSystem/{system}"), "code": code, "display": display}]})
}

fn full(resource: &Value) -> String {
    let text = |name: &str| resource[name].as_str().unwrap();
    format!("{}/{}", text("resourceType"), text("id"))
}

fn name(resource: &Value) -> String {
    let resource_type = resource["resourceType"].as_str().unwrap();
    let code = &resource["code"]["coding"][0]["code"];
    let medication = &resource["medicationCodeableConcept"]["coding"][0]["code"];
    let plan = &resource["identifier"][0]["value"];
    let start = &resource["period"]["start"];
    let named = [code, medication, start, plan].into_iter().find_map(Value::as_str);
    format!("{resource_type}/{}", named.unwrap_or_default())
}

fn relink(value: &mut Value, names: &BTreeMap<&str, String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_str().and_then(|text| names.get(text)) {
                    Some(name) if key == "reference" => *value = name.clone().into(),
                    _ => relink(value, names),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| relink(value, names)),
        _ => {}
    }
}
