//! Real records altered to contain rare forms: numbers with a comparator, open periods, codes without a system,
//! references of all forms, values that are only an extension.

use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Map, Value, json};
use tabularium::ingest::{Options, Session};
use tabularium::lake::Lake;

use super::values::span;

/// The maximum number of resources of a type, because many types test more than many rows.
const OF_A_TYPE: usize = 120;

/// The number of generated resources of each type, for forms that no real record has: numbers, timings, ranges.
const MADE: usize = 25;

/// A lake of altered records.
pub(super) fn lake(shared: &Path, seed: u64) -> (tempfile::TempDir, Lake) {
    let folder = tempfile::tempdir().unwrap();
    let lake = crate::harness::kind::open_or_create(folder.path());
    let mut crook = Crook(ChaCha8Rng::seed_from_u64(seed));
    let mut altered: Vec<Value> = resources(shared);
    altered.extend((0..MADE).flat_map(|at| crook.made(at)));
    for resource in &mut altered {
        for _ in 0..3 {
            crook.alter(resource, true);
        }
        crook.contain(resource);
    }
    altered.extend((0..MADE).flat_map(|at| crook.canonical(at)));
    // In several files, in input order.
    for part in altered.chunks(altered.len() / 3 + 1) {
        let mut writer = lake.writer().unwrap();
        let mut session = Session::begin(&mut writer, Options::default()).unwrap();
        for resource in part {
            session.add_document(resource.to_string().as_bytes()).unwrap();
        }
        session.finish().unwrap();
    }
    (folder, lake)
}

/// Some real resources, without duplicates.
fn resources(shared: &Path) -> Vec<Value> {
    let folders = ["uscore", "carin/ig-2.0.0", "synthea-2021", "pdex", "ips"];
    let folders: Vec<PathBuf> = folders.iter().map(|folder| shared.join("data").join(folder)).collect();
    let mut found: Vec<Value> = Vec::new();
    let mut known = std::collections::HashSet::new();
    let mut of_type = std::collections::HashMap::<String, usize>::new();
    for path in tabularium::ingest::find(&folders).unwrap() {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let Ok(document) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let entries = document["entry"].as_array().cloned().unwrap_or_default();
        let inner = entries.into_iter().map(|mut entry| entry["resource"].take());
        for resource in inner.chain([document]) {
            let (Some(resource_type), Some(id)) = (resource["resourceType"].as_str(), resource["id"].as_str()) else {
                continue;
            };
            let count = of_type.entry(resource_type.to_owned()).or_default();
            let fits = !["Bundle", "Binary"].contains(&resource_type) && *count < OF_A_TYPE;
            if fits && known.insert(format!("{resource_type}/{id}")) {
                *count += 1;
                found.push(resource);
            }
        }
    }
    found
}

/// Alters resources at random.
struct Crook(ChaCha8Rng);

impl Crook {
    fn below(&mut self, count: usize) -> usize {
        self.0.next_u32() as usize % count
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    /// Generated resources with numbers, Timings, Ranges and Ages as search values.
    fn made(&mut self, at: usize) -> Vec<Value> {
        let number =
            |crook: &mut Crook| [0.0, 0.05, 0.25, 0.3, 1.0, 2.0, 50.0, 99.5, 100.0, 104.0, 1000.0][crook.below(11)];
        let day = |crook: &mut Crook| {
            format!(
                "20{:02}-{:02}-{:02}",
                10 + crook.below(14),
                1 + crook.below(12),
                1 + crook.below(28)
            )
        };
        let low = number(self);
        let range = |low: f64| {
            let of =
                |value: f64| json!({"value": value, "unit": "a", "system": "http://unitsofmeasure.org", "code": "a"});
            match at % 3 {
                0 => json!({"low": of(low), "high": of(low + 5.0)}),
                1 => json!({"low": of(low)}),
                _ => json!({"high": of(low)}),
            }
        };
        let timing = match self.below(4) {
            0 => json!({"event": [day(self), day(self)]}),
            1 => json!({"repeat": {"boundsPeriod": {"start": day(self)}}}),
            2 => json!({"event": [day(self)], "repeat": {"boundsPeriod": {"end": day(self)}}}),
            _ => json!({"repeat": {"frequency": 1, "period": 1, "periodUnit": "d"}}),
        };
        let subject = json!({"reference": "Patient/85"});
        let code = json!({"text": "made"});
        let mut risk = json!({"resourceType": "RiskAssessment", "status": "final", "subject": subject,
            "prediction": [{"probabilityDecimal": low}, {"probabilityRange": range(low)}]});
        if self.one_in(2) {
            risk["prediction"].as_array_mut().unwrap().remove(at % 2);
        }
        let data = self.pick(&["1 2.5 3", "-4 E 6.25", "U 2 3", "L 5", "U L 0.5", "U", "E"]);
        let mut sampled = json!({"origin": {"value": number(self), "unit": "mV", "system": "http://unitsofmeasure.org", "code": "mV"},
            "period": 10, "dimensions": 1, "data": data});
        for (name, value) in [
            ("factor", [0.5, -2.0][self.below(2)]),
            ("lowerLimit", -5.0),
            ("upperLimit", 7.5),
        ] {
            if self.one_in(2) {
                sampled[name] = json!(value);
            }
        }
        let curve = if self.one_in(2) {
            json!({"resourceType": "Observation", "status": "final", "code": code, "subject": subject,
                "valueSampledData": sampled})
        } else {
            json!({"resourceType": "Observation", "status": "final", "code": code, "subject": subject,
                "component": [{"code": code, "valueSampledData": sampled}]})
        };
        let dose = 1 + self.below(4);
        let mut made = vec![
            curve,
            risk,
            json!({"resourceType": "ImmunizationRecommendation", "patient": subject, "date": day(self), "recommendation": [
                {"forecastStatus": code, "doseNumberPositiveInt": dose, "vaccineCode": [code]}]}),
            json!({"resourceType": "ChargeItem", "status": "billable", "code": code, "subject": subject,
                "factorOverride": number(self), "priceOverride": {"value": number(self), "currency": "USD"}}),
            json!({"resourceType": "ServiceRequest", "status": "active", "intent": "order", "subject": subject,
                "occurrenceTiming": timing}),
            json!({"resourceType": "CarePlan", "status": "active", "intent": "plan", "subject": subject,
                "activity": [{"detail": {"status": "scheduled", "scheduledTiming": timing}}]}),
            json!({"resourceType": "Condition", "subject": subject, "onsetRange": range(low)}),
            json!({"resourceType": "Condition", "subject": subject, "abatementAge":
                {"value": number(self), "unit": "a", "system": "http://unitsofmeasure.org", "code": "a"}}),
        ];
        for (which, resource) in made.iter_mut().enumerate() {
            resource["id"] = json!(format!("made-{at}-{which}"));
        }
        made
    }

    /// Adds the contained resource for a reference that points to one.
    fn contain(&mut self, resource: &mut Value) {
        if resource.to_string().contains("\"#inside\"") && self.one_in(2) && resource.get("contained").is_none() {
            let resource_type = self.pick(&["Patient", "Patient", "Practitioner", "Organization"]);
            resource["contained"] = json!([{"resourceType": resource_type, "id": "inside"}]);
        }
    }

    /// Resources with URLs, and others with canonicals that name these.
    fn canonical(&mut self, at: usize) -> Vec<Value> {
        let mut named = |resource_type: &str| {
            let url = format!("http://example.org/{resource_type}/{}", self.below(6));
            match self.below(8) {
                0 => url,
                1 => format!(
                    "{resource_type}/named-{}-{}",
                    self.below(MADE),
                    resource_type.to_lowercase()
                ),
                2 => format!("{url}|3"),
                _ => format!("{url}|{}", 1 + self.below(2)),
            }
        };
        let canonicals: Vec<String> = ["Questionnaire", "PlanDefinition", "Measure", "Questionnaire"]
            .map(&mut named)
            .into();
        let subject = json!({"reference": "Patient/85"});
        let mut known = |resource_type: &str| {
            let mut known = json!({"resourceType": resource_type, "id": format!("named-{at}-{}", resource_type.to_lowercase()), "status": "active",
                "url": format!("http://example.org/{resource_type}/{}", self.below(6)), "title": format!("{resource_type} {}", self.below(9))});
            if !self.one_in(4) {
                known["version"] = json!((1 + self.below(2)).to_string());
            }
            known
        };
        vec![
            known("Questionnaire"),
            known("PlanDefinition"),
            known("Measure"),
            json!({"resourceType": "QuestionnaireResponse", "id": format!("answers-{at}"), "status": "completed",
                "subject": subject, "questionnaire": canonicals[0]}),
            json!({"resourceType": "CarePlan", "id": format!("plan-{at}"), "status": "active", "intent": "plan", "subject": subject,
                "instantiatesCanonical": [canonicals[1], canonicals[3]]}),
            json!({"resourceType": "MeasureReport", "id": format!("measured-{at}"), "status": "complete", "type": "individual",
                "subject": subject, "measure": canonicals[2], "period": {"start": "2020-01-01", "end": "2020-02-01"}}),
        ]
    }

    /// Alters parts of a resource at random.
    fn alter(&mut self, value: &mut Value, is_root: bool) {
        match value {
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.alter(item, false));
                if items.len() > 1 && self.one_in(6) {
                    items.reverse();
                }
            }
            Value::Object(object) => {
                if !is_root {
                    self.object(object);
                }
                let names: Vec<String> = object.keys().cloned().collect();
                for name in names {
                    if ["resourceType", "id", "meta", "contained", "text", "extension"].contains(&name.as_str()) {
                        continue;
                    }
                    self.alter(object.get_mut(&name).unwrap(), false);
                    self.primitive(object, &name);
                }
            }
            _ => {}
        }
    }

    /// Alters an object whose type is clear from its properties.
    fn object(&mut self, object: &mut Map<String, Value>) {
        let has = |name: &str| object.contains_key(name);
        if has("value") && (has("unit") || has("code")) && object["value"].is_number() {
            self.quantity(object);
        } else if has("reference") {
            self.reference(object);
        } else if has("start") || has("end") {
            // The object must not become empty.
            if self.one_in(5) && object.len() > 1 {
                let bound = self.pick(&["start", "end"]);
                object.remove(bound);
            }
        } else if has("system") && (has("code") || has("value")) {
            match self.below(9) {
                0 => drop(object.remove("system")),
                1 => drop(object.remove("code")),
                2 => drop(object.insert("system".to_owned(), json!("http://example.org/crooked"))),
                _ => {}
            }
        } else if has("coding") {
            match self.below(10) {
                0 if has("text") => drop(object.remove("coding")),
                1 => {
                    let codings = object["coding"].as_array_mut();
                    if let Some(codings) = codings {
                        let mut again = codings[0].clone();
                        again["system"] = json!("http://example.org/another");
                        codings.push(again);
                    }
                }
                _ => {}
            }
        } else if has("family") && self.one_in(3) {
            let family = self.pick(&[
                "Carreño Quiñones",
                "O'Brien-Smith",
                "van  der Berg",
                "ÅNGSTRÖM",
                "Smith, Jr.",
                "Straßer",
                "STRASSER",
                "Mül\u{ad}ler\u{200b}",
                "Οδυσσεύς",
            ]);
            object.insert("family".to_owned(), json!(family));
        }
    }

    fn quantity(&mut self, object: &mut Map<String, Value>) {
        match self.below(8) {
            0 | 1 => {
                let comparator = self.pick(&["<", "<=", ">", ">="]);
                object.insert("comparator".to_owned(), json!(comparator));
            }
            2 => drop(object.remove("system")),
            3 => drop(object.remove("code")),
            4 => drop(object.remove("unit")),
            5 => {
                let number = object["value"].as_f64().unwrap();
                let other = [-number, 0.0, number * 1e6, number / 1e4, number.round()][self.below(5)];
                let text = format!("{other:.9}");
                object.insert("value".to_owned(), serde_json::from_str(&text).unwrap());
            }
            _ => {}
        }
    }

    fn reference(&mut self, object: &mut Map<String, Value>) {
        let Some(text) = object["reference"].as_str().map(str::to_owned) else {
            return;
        };
        let other = match self.below(20) {
            0 => format!("{text}/_history/2"),
            1 => format!("http://other.example/fhir/{text}"),
            2 => "urn:uuid:0d0c3fd3-0000-4000-8000-000000000001".to_owned(),
            3 => "#inside".to_owned(),
            4 => {
                object.remove("reference");
                object.insert(
                    "identifier".to_owned(),
                    json!({"system": "http://example.org/crooked", "value": text}),
                );
                return;
            }
            _ => return,
        };
        object.insert("reference".to_owned(), json!(other));
    }

    /// Alters a property with a text, a number or a boolean.
    fn primitive(&mut self, object: &mut Map<String, Value>, name: &str) {
        let value = &object[name];
        if name.starts_with('_') || value.is_object() || value.is_array() {
            return;
        }
        if self.one_in(25) && name != "reference" && name != "url" {
            // Replaces the value by an extension.
            object.remove(name);
            let extension = json!({"extension": [{"url": "http://example.org/why", "valueCode": "unknown"}]});
            object.insert(format!("_{name}"), extension);
            return;
        }
        let Some(text) = value.as_str() else { return };
        let date = text.get(..10).filter(|date| span(date).is_some());
        // An instant must stay complete, and a date must have no time.
        let has_time = text.contains('T') && !["issued", "recorded", "date"].contains(&name);
        let other = match (date, self.below(12)) {
            (Some(date), 0) if has_time || text == date => date[..4].to_owned(),
            (Some(date), 1) if has_time || text == date => date[..7].to_owned(),
            (Some(date), 2) if has_time => date.to_owned(),
            (Some(date), 3) if text.contains('T') => format!("{date}T23:59:59.999-11:00"),
            (Some(date), 4) if text.contains('T') => format!("{date}T00:00:00+14:00"),
            (None, 0) if name == "code" => text.to_uppercase(),
            (None, 1) if name == "display" => text.replace(' ', " \u{2013} "),
            (None, 2) if name == "display" => text.replace('a', "ä").to_uppercase(),
            _ => return,
        };
        object.insert(name.to_owned(), json!(other));
    }
}
