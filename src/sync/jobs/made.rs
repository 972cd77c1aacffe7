//! Generates a Patient for a source that sends none, from what the person's other records tell. The commit adds a tag
//! that shows this.

use std::io::{self, BufRead, BufReader};

use memchr::memmem;
use serde_json::{Map, Value, json};

use crate::lake::scratch::TextFile;

/// The maximum number of records that are searched.
const MAX_RECORDS: usize = 10_000;
/// The elements that are copied from a contained Patient.
const TAKEN: &[&str] = &["identifier", "name", "telecom", "gender", "birthDate", "address"];

/// Returns a Patient with this id, as a line of NDJSON. Its elements come from a contained Patient: the first one whom
/// a record is about. If there is none, the Patient has the name that a reference has as `display`, or only its id.
pub(super) fn made(files: &[TextFile], id: &str) -> io::Result<String> {
    let mut patient = Map::new();
    patient.insert("resourceType".to_owned(), "Patient".into());
    patient.insert("id".to_owned(), id.into());
    let mut name: Option<String> = None;
    let mut seen = 0;
    'all: for file in files {
        for line in BufReader::new(file.open()?).lines() {
            let line = line?;
            seen += 1;
            if seen > MAX_RECORDS {
                break 'all;
            }
            let says = |what: &str| memmem::find(line.as_bytes(), what.as_bytes()).is_some();
            if !says("\"contained\"") && (name.is_some() || !says("\"display\"")) {
                continue;
            }
            let Ok(record) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            for reference in ["patient", "subject", "beneficiary"].map(|about| &record[about]) {
                if let Some(found) = contained(&record, reference) {
                    patient.extend(found);
                    return Ok(Value::Object(patient).to_string());
                }
                let display = reference["display"].as_str().filter(|text| !text.trim().is_empty());
                if name.is_none() && is_about(reference, id) {
                    name = display.map(str::to_owned);
                }
            }
        }
    }
    if let Some(name) = name {
        patient.insert("name".to_owned(), json!([{"text": name}]));
    }
    Ok(Value::Object(patient).to_string())
}

/// Returns the elements of the contained Patient to whom the reference leads, if there is one with a name or a birth
/// date.
fn contained(record: &Value, reference: &Value) -> Option<Map<String, Value>> {
    let id = reference["reference"].as_str()?.strip_prefix('#')?;
    let inside = record["contained"].as_array()?.iter();
    let patient = inside
        .filter(|one| one["resourceType"] == "Patient")
        .find(|one| one["id"] == id)?;
    if patient["name"].is_null() && patient["birthDate"].is_null() {
        return None;
    }
    let taken = TAKEN.iter().filter(|name| !patient[**name].is_null());
    Some(taken.map(|name| ((*name).to_owned(), patient[*name].clone())).collect())
}

/// Whether a reference leads to this Patient, or has no `reference`. Without one, the patient of the job is assumed.
fn is_about(reference: &Value, id: &str) -> bool {
    match reference["reference"].as_str() {
        None => true,
        Some(text) => text.rsplit_once('/').map(|(_, last)| last) == Some(id) && text.contains("Patient/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[Value]) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ExplanationOfBenefit.ndjson");
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).unwrap();
        serde_json::from_str(&made(&[file.into()], "p").unwrap()).unwrap()
    }

    #[test]
    fn a_contained_patient_goes_before_a_name_beside_a_reference() {
        let beside = json!({"resourceType": "Coverage", "beneficiary": {"reference": "Patient/p", "display": "Ada L"}});
        let other = json!({"resourceType": "Coverage", "beneficiary": {"reference": "Patient/q", "display": "Other"}});
        let inside = json!({"resourceType": "ExplanationOfBenefit", "patient": {"reference": "#m"}, "contained": [
            {"resourceType": "Patient", "id": "n", "name": [{"family": "Other"}]},
            {"resourceType": "Patient", "id": "m", "name": [{"family": "L"}], "birthDate": "1970-01-01", "photo": [{}]}]});
        assert_eq!(
            of(&[other.clone(), beside.clone(), inside]),
            json!({"resourceType": "Patient", "id": "p", "name": [{"family": "L"}], "birthDate": "1970-01-01"})
        );
        assert_eq!(
            of(&[other.clone(), beside]),
            json!({"resourceType": "Patient", "id": "p", "name": [{"text": "Ada L"}]})
        );
        assert_eq!(of(&[other]), json!({"resourceType": "Patient", "id": "p"}));
    }
}
