//! The R4 facts match real records: every property is an element with the stated JSON type and cardinality. All dates,
//! decimals and references can be parsed.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tabularium::fhir::decimal::Decimal;
use tabularium::fhir::reference::Reference;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::fhir::temporal::{Temporal, TimeOfDay};
use tabularium::fhir::{Kind, Primitive, TypeId, facts};

use crate::harness;

/// What the description of the shared records lists as invalid.
const FAULTS: [&str; 2] = [
    "us_quality_core_bundle_patient.json: Media.content.link is not in R4",
    "uscore_bundle_patient_355.json: Observation.effectivePeriod.stop is not in R4",
];

#[test]
fn real_records_are_made_of_known_elements() {
    let real = harness::real();
    let mut check = Check::default();
    for file in json_files(&real.data) {
        let json: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        check.file = file.file_name().unwrap().to_string_lossy().into_owned();
        check.resource(&json);
    }
    let (min_values, faults) = if real.is_whole {
        (100_000, &FAULTS[..])
    } else {
        (5_000, &[][..])
    };
    assert!(check.values > min_values, "only {} values were seen", check.values);
    check.faults.sort();
    assert_eq!(check.faults, faults);
}

#[test]
fn an_unknown_name_is_never_found() {
    for type_id in facts().types() {
        for name in ["", "_", "_status", "x", "\u{0}", "value[x]", "äöü"] {
            assert!(
                facts().child(type_id, name).is_none(),
                "{} {name}",
                facts().get(type_id).name
            );
            assert!(SearchParameters::builtin().get(type_id, name).is_none());
        }
    }
}

/// Traverses resources by the facts and collects mismatches.
#[derive(Default)]
struct Check {
    file: String,
    faults: Vec<String>,
    values: usize,
}

impl Check {
    fn resource(&mut self, json: &Value) {
        let name = json["resourceType"].as_str().unwrap_or_default();
        match facts()
            .lookup(name)
            .filter(|type_id| facts().resources().any(|each| each == *type_id))
        {
            Some(type_id) => self.object(type_id, json, name),
            None => self.fault(name, "is no resource type"),
        }
    }

    fn object(&mut self, type_id: TypeId, json: &Value, path: &str) {
        let Some(object) = json.as_object() else {
            return self.fault(path, "is no object");
        };
        for (property, value) in object {
            let path = format!("{path}.{property}");
            let (name, companion) = match property.strip_prefix('_') {
                Some(name) => (name, true),
                None => (property.as_str(), false),
            };
            if property == "resourceType" && facts().get(type_id).kind == Kind::Resource {
                continue;
            }
            let Some(child) = facts().child(type_id, name) else {
                self.fault(&path, "is not in R4");
                continue;
            };
            if value.is_array() != child.element.many {
                self.fault(&path, "does not repeat as R4 says");
            }
            for item in value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice) {
                self.values += 1;
                match facts().get(child.type_id).kind {
                    Kind::Primitive(_) if item.is_null() && child.element.many => {}
                    Kind::Primitive(_) if companion => self.object(child.type_id, item, &path),
                    Kind::Primitive(primitive) => {
                        if !reads(primitive, item) {
                            self.fault(&path, &format!("is no {primitive:?}: {item}"));
                        }
                    }
                    Kind::Resource => self.resource(item),
                    Kind::Complex | Kind::Backbone => {
                        self.object(child.type_id, item, &path);
                        self.reference(child.type_id, item, &path);
                    }
                }
            }
        }
    }

    fn reference(&mut self, type_id: TypeId, json: &Value, path: &str) {
        if facts().get(type_id).name == "Reference"
            && let Some(text) = json["reference"].as_str()
            && let Reference::Other(_) = Reference::parse(text)
        {
            self.fault(path, &format!("is no reference: {text}"));
        }
    }

    fn fault(&mut self, path: &str, what: &str) {
        self.faults.push(format!("{}: {path} {what}", self.file));
    }
}

fn reads(primitive: Primitive, json: &Value) -> bool {
    match primitive {
        Primitive::Boolean => json.is_boolean(),
        Primitive::Integer => json.is_i64(),
        Primitive::PositiveInt | Primitive::UnsignedInt => json.is_u64(),
        Primitive::Decimal => json.is_number() && Decimal::parse(&json.to_string()).is_ok(),
        Primitive::Date => json.as_str().is_some_and(|text| Temporal::date(text).is_ok()),
        Primitive::DateTime => json.as_str().is_some_and(|text| Temporal::date_time(text).is_ok()),
        Primitive::Instant => json.as_str().is_some_and(|text| Temporal::instant(text).is_ok()),
        Primitive::Time => json.as_str().is_some_and(|text| TimeOfDay::parse(text).is_ok()),
        _ => json.is_string(),
    }
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(json_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files
}
