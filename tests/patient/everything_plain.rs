//! `$everything` against a plain reading of the lake: every patient of the real records, with every parameter. The model reads JSON and knows
//! of compartments, references and dates what stands here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tabularium::fhir::compartment::patient_params;
use tabularium::fhir::facts;
use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::fhir::temporal::Temporal;
use tabularium::http::Limits;
use tabularium::ingest::{Options, import};
use tabularium::lake::Lake;
use tabularium::patient::REFERRED;
use tabularium::patient::everything::CLINICAL_DATES;

use super::{all, name, names};
use crate::harness;
use crate::harness::server::Server;
use crate::harness::stored::stored;

/// All resources, by `Type/id`.
struct Plain {
    records: BTreeMap<String, Value>,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
struct Asked {
    start: Option<&'static str>,
    end: Option<&'static str>,
    types: &'static [&'static str],
}

impl Asked {
    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("start", self.start), ("end", self.end)] {
            if let Some(value) = value {
                query.append_pair(name, value);
            }
        }
        if !self.types.is_empty() {
            query.append_pair("_type", &self.types.join(","));
        }
        query.finish()
    }

    fn shows(&self, name: &str) -> bool {
        self.types.is_empty() || self.types.contains(&ty(name))
    }
}

fn ty(name: &str) -> &str {
    name.split('/').next().unwrap()
}

/// What stands at an expression's paths, which are those of one type: `Type.a.b`, `(Type.a as X)`, `Type.a.where(...)`.
fn at<'v>(resource: &'v Value, expression: &str) -> Vec<(&'v str, &'v Value)> {
    let own = format!("{}.", resource["resourceType"].as_str().unwrap());
    let mut found = Vec::new();
    for part in expression.split('|') {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        let part = part.split(".where(").next().unwrap().split(".as(").next().unwrap();
        let part = part.split(" as ").next().unwrap().trim();
        let Some(path) = part.strip_prefix(&own) else { continue };
        let mut items = vec![("", resource)];
        for step in path.split('.') {
            items = items.into_iter().flat_map(|(_, item)| children(item, step)).collect();
        }
        found.extend(items);
    }
    found
}

/// The children of a name, of a choice those of any type.
fn children<'v>(item: &'v Value, step: &str) -> Vec<(&'v str, &'v Value)> {
    let object = item.as_object().into_iter().flatten();
    let is = |key: &str| {
        key.strip_prefix(step)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(|first: char| first.is_ascii_uppercase()))
    };
    let named = object.filter(|(key, _)| is(key));
    named
        .flat_map(|(key, value)| match value {
            Value::Array(items) => items.iter().map(|item| (key.as_str(), item)).collect::<Vec<_>>(),
            value => vec![(key.as_str(), value)],
        })
        .collect()
}

/// All relative references in a resource, as `Type/id`.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => {
            if let Some(text) = members.get("reference").and_then(Value::as_str)
                && !text.contains(':')
            {
                let parts: Vec<&str> = text.split('/').take(2).collect();
                found.insert(parts.join("/"));
            }
            members.values().for_each(|member| references(member, found));
        }
        _ => {}
    }
}

/// The time that a date or period stands for.
fn interval(key: &str, value: &Value) -> Option<(i64, i64)> {
    let of = |text: &str| Temporal::date_time(text).ok().map(|time| (time.start, time.end));
    match value {
        // Of a choice, what is no date is no date however it looks.
        Value::String(text) if !key.ends_with("String") => of(text),
        Value::Object(period) => {
            let end = |name: &str| period.get(name).and_then(Value::as_str);
            let (start, until) = (end("start"), end("end"));
            if start.is_none() && until.is_none() {
                return None;
            }
            let start = start.map_or(Some(i64::MIN), |text| of(text).map(|time| time.0))?;
            Some((start, until.map_or(Some(i64::MAX), |text| of(text).map(|time| time.1))?))
        }
        _ => None,
    }
}

impl Plain {
    fn is_member(&self, resource: &Value, patient: &str) -> bool {
        if name(resource) == format!("Patient/{patient}") {
            return true;
        }
        let ty = facts().lookup(resource["resourceType"].as_str().unwrap()).unwrap();
        patient_params(ty).iter().any(|code| {
            let parameter = SearchParameters::builtin().get(ty, code).unwrap().clone();
            let found = at(resource, parameter.expression.as_deref().unwrap());
            let wanted = format!("Patient/{patient}");
            found.iter().any(|(_, reference)| {
                let text = reference["reference"].as_str().unwrap_or_default();
                text == wanted || text.starts_with(&format!("{wanted}/"))
            })
        })
    }

    fn is_then(&self, resource: &Value, asked: &Asked) -> bool {
        let name = resource["resourceType"].as_str().unwrap();
        let Some(date) = CLINICAL_DATES.iter().find(|date| date.resource == name) else {
            return true;
        };
        let parameter = SearchParameters::builtin()
            .get(facts().lookup(name).unwrap(), date.code)
            .unwrap()
            .clone();
        let found = at(resource, parameter.expression.as_deref().unwrap());
        let times: Vec<(i64, i64)> = found.iter().filter_map(|(key, value)| interval(key, value)).collect();
        let bound = |text: &str| Temporal::date_time(text).map(|time| (time.start, time.end)).unwrap();
        let within = |(start, end): (i64, i64), (from, until): (i64, i64)| start >= from && end <= until;
        let from = asked
            .start
            .map(bound)
            .is_none_or(|bound| times.iter().any(|time| time.1 > bound.1 || within(*time, bound)));
        let until = asked
            .end
            .map(bound)
            .is_none_or(|bound| times.iter().any(|time| time.0 < bound.0 || within(*time, bound)));
        from && until
    }

    /// What belongs to a patient's record: members and what is referred to.
    fn everything(&self, patient: &str, asked: &Asked) -> (BTreeSet<String>, BTreeSet<String>) {
        let members = self
            .records
            .iter()
            .filter(|(_, record)| self.is_member(record, patient) && self.is_then(record, asked));
        let members: BTreeMap<&String, &Value> = members.collect();
        let mut referred = BTreeSet::new();
        let mut next: Vec<&Value> = members.values().copied().collect();
        while let Some(record) = next.pop() {
            let mut found = BTreeSet::new();
            references(record, &mut found);
            for name in found {
                if REFERRED.contains(&ty(&name))
                    && let Some(record) = self.records.get(&name)
                    && referred.insert(name)
                {
                    next.push(record);
                }
            }
        }
        let shown = |names: Vec<String>| names.into_iter().filter(|name| asked.shows(name)).collect();
        (
            shown(members.into_keys().cloned().collect()),
            shown(referred.into_iter().collect()),
        )
    }
}

const ASKED: [Asked; 7] = [
    Asked {
        start: None,
        end: None,
        types: &[],
    },
    Asked {
        start: Some("2015"),
        end: None,
        types: &[],
    },
    Asked {
        start: None,
        end: Some("2018-06"),
        types: &[],
    },
    Asked {
        start: Some("2010-03-15"),
        end: Some("2019-12-31T23:59:59Z"),
        types: &[],
    },
    Asked {
        start: None,
        end: None,
        types: &["ExplanationOfBenefit", "Organization", "Patient"],
    },
    Asked {
        start: Some("2019"),
        end: None,
        types: &["Practitioner", "Encounter", "Location"],
    },
    Asked {
        start: None,
        end: Some("1990"),
        types: &["Observation", "Medication", "Condition"],
    },
];

#[test]
fn every_patient_of_the_real_records_gets_what_a_plain_reading_finds() {
    let Some(shared) = harness::shared("every_patient_of_the_real_records_gets_what_a_plain_reading_finds") else {
        return;
    };
    let folders = ["synthea", "synthea-2021", "uscore", "carin/ig-2.0.0", "carin/inferno"];
    let paths: Vec<_> = folders.iter().map(|folder| shared.join("data").join(folder)).collect();
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::open_or_create(folder.path()).unwrap();
    import(&mut lake.writer().unwrap(), Options::default(), &paths).unwrap();
    let read = stored(&lake)
        .into_iter()
        .map(|((_, _, ty, id), row)| (format!("{ty}/{id}"), serde_json::from_str(&row.resource).unwrap()));
    let plain = Plain {
        records: read.collect(),
    };
    let server = Server::over(folder, lake, Limits::default());
    let application = server.application_token();
    let patients: Vec<String> = plain
        .records
        .keys()
        .filter_map(|name| Some(name.strip_prefix("Patient/")?.to_owned()))
        .collect();
    assert!(patients.len() > 20);
    let (mut members, mut brought, mut narrowed) = (0, 0, 0);
    for patient in &patients {
        let path = format!("/fhir/Patient/{patient}/$everything");
        for (at, asked) in ASKED.iter().enumerate() {
            // Pages that cut through types, and through what is referred to.
            let count = [1_000, 97, 1_000, 13, 5, 500, 7][at];
            let found = all(
                &server,
                &application,
                &format!("{path}?{}&_count={count}", asked.query()),
            );
            let (matches, includes) = plain.everything(patient, asked);
            let set = |mode: &str| names(&found, mode).into_iter().collect::<BTreeSet<_>>();
            for (mode, expected) in [("match", &matches), ("include", &includes)] {
                let found = set(mode);
                let differing: Vec<_> = found.symmetric_difference(expected).collect();
                assert!(differing.is_empty(), "{patient} {asked:?}: {differing:?}");
            }
            assert_eq!(
                found.len(),
                matches.len() + includes.len(),
                "{patient} {asked:?}: each once"
            );
            let order: Vec<(bool, bool, &str)> = found
                .iter()
                .map(|(mode, name)| (mode == "include", ty(name) != "Patient", ty(name)))
                .collect();
            assert!(
                order.is_sorted(),
                "{patient}: Patient first, then by name, what is referred to last"
            );
            match at {
                0 => (members, brought) = (members + matches.len(), brought + includes.len()),
                _ => narrowed += matches.len(),
            }
        }
        // A patient's token has the same, but for others' records that speak of the patient.
        let token = server.patient_token(patient);
        let (matches, includes) = plain.everything(patient, &ASKED[0]);
        let found = all(&server, &token, "/fhir/Patient/$PATIENT_ID/$everything");
        let found: BTreeSet<String> = found.into_iter().map(|(_, name)| name).collect();
        let expected: BTreeSet<String> = matches.union(&includes).cloned().collect();
        assert!(found.is_subset(&expected), "{patient}");
        for missing in expected.difference(&found) {
            assert_eq!(
                server.get(&format!("/fhir/{missing}"), &token).status,
                404,
                "{patient}: {missing}"
            );
        }
    }
    println!(
        "{} patients: {members} members, {brought} referred to, {narrowed} of narrowed records",
        patients.len()
    );
    assert!(members > 4_000 && brought > 100 && narrowed > 4_000);
}
