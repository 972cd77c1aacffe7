//! `tabularium sql`: tables, views and `fhirpath()` in one statement, through the program.

mod answers; // joins, groups, windows, nulls, dates, decimals, formats
mod bounds; // memory of functions, nesting
mod differential; // the same questions by SQL and by `tabularium run`
mod reads; // reads of statements, and decisions of the scan
mod refusals; // writing statements, unknown names, invalid results
mod scope; // the rows that a statement sees
mod traveling; // plans of statements in another process

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::harness::command;

/// A lake of three people, and a folder with views.
struct Lake {
    folder: tempfile::TempDir,
}

impl Lake {
    fn new() -> Lake {
        Lake::of(&records())
    }

    fn of(records: &[Value]) -> Lake {
        let lake = Lake {
            folder: tempfile::tempdir().unwrap(),
        };
        let lines: Vec<String> = records.iter().map(Value::to_string).collect();
        command::imported(&lake.data(), &lines.join("\n"));
        std::fs::create_dir(lake.views()).unwrap();
        for view in [patients(), observations(), parts()] {
            lake.view(&view);
        }
        lake
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("lake")
    }

    fn views(&self) -> PathBuf {
        self.folder.path().join("views")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds a view to the folder.
    fn view(&self, view: &Value) {
        let name = format!("{}.view.json", view["name"].as_str().unwrap());
        std::fs::write(self.views().join(name), view.to_string()).unwrap();
    }

    fn run(&self, statement: &str, options: &[&str]) -> Output {
        let (data, views) = (self.data(), self.views());
        let fixed = ["sql", statement, "--data", text(&data), "--views", text(&views)];
        command::run(&[&fixed, options].concat())
    }

    /// The answer to a statement that must succeed.
    fn answer(&self, statement: &str) -> String {
        self.answer_with(statement, &[])
    }

    fn answer_with(&self, statement: &str, options: &[&str]) -> String {
        let done = self.run(statement, options);
        let error = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{statement}: {error}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// The error of a statement: one line, and exit code 2.
    fn refused(&self, statement: &str, options: &[&str]) -> String {
        let done = self.run(statement, options);
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(2), "{statement}: {error}");
        assert_eq!(error.lines().count(), 1, "{statement}: {error}");
        assert!(done.stdout.is_empty(), "{statement}");
        error
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn observation(id: &str, patient: &str, code: &str, taken: &str, value: Value) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final", "subject": {"reference": format!("Patient/{patient}")},
        "code": {"text": code, "coding": [{"system": "http://loinc.org", "code": code}]}, "effectiveDateTime": taken,
        "valueQuantity": {"value": value, "unit": "x"}})
}

/// Two people with measurements, and one without gender and measurements.
fn records() -> Vec<Value> {
    let precise: Value = serde_json::from_str("70.10").unwrap();
    let mut pressure = observation("o5", "ben", "bp", "2020-05-21T13:40:03-05:00", json!(1));
    pressure.as_object_mut().unwrap().remove("valueQuantity");
    pressure["component"] = json!([
        {"code": {"coding": [{"system": "http://loinc.org", "code": "systolic"}]}, "valueQuantity": {"value": 118}},
        {"code": {"coding": [{"system": "http://loinc.org", "code": "diastolic"}]}, "valueQuantity": {"value": 75}}]);
    vec![
        json!({"resourceType": "Patient", "id": "ann", "gender": "female", "birthDate": "1980-02-29", "active": true,
            "name": [{"family": "O'Hara", "given": ["Ann", "B."]}]}),
        json!({"resourceType": "Patient", "id": "ben", "gender": "male", "birthDate": "1990-07-01",
            "name": [{"family": "Smith", "given": ["Ben"]}, {"family": "Schmidt"}]}),
        json!({"resourceType": "Patient", "id": "cid"}),
        observation("o1", "ann", "weight", "2020-01-10", precise),
        observation("o2", "ann", "weight", "2020-03-10", json!(71)),
        observation("o3", "ann", "pulse", "2020-02-01T08:00:00Z", json!(64)),
        observation("o4", "ben", "weight", "2019-12-31", json!(80.25)),
        pressure,
        json!({"resourceType": "Practitioner", "id": "doc", "name": [{"family": "Unseen"}]}),
    ]
}

fn patients() -> Value {
    json!({"resourceType": "ViewDefinition", "name": "patients", "status": "active", "resource": "Patient",
        "select": [{"column": [
            {"name": "id", "path": "getResourceKey()", "type": "string"},
            {"name": "gender", "path": "gender", "type": "code"},
            {"name": "family", "path": "name.family.first()", "type": "string"},
            {"name": "born", "path": "birthDate", "type": "date", "tag": [{"name": "ansi/type", "value": "DATE"}]},
            {"name": "given", "path": "name.given", "type": "string", "collection": true}]}]})
}

fn observations() -> Value {
    json!({"resourceType": "ViewDefinition", "name": "observations", "status": "active", "resource": "Observation",
        "select": [{"column": [
            {"name": "id", "path": "getResourceKey()", "type": "string"},
            {"name": "patient", "path": "subject.getReferenceKey(Patient)", "type": "string"},
            {"name": "code", "path": "code.coding.where(system = 'http://loinc.org').code.first()", "type": "code"},
            {"name": "taken", "path": "effective.ofType(dateTime)", "type": "dateTime"},
            {"name": "day", "path": "effective.ofType(dateTime)", "type": "dateTime",
                "tag": [{"name": "ansi/type", "value": "DATE"}]},
            {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal",
                "tag": [{"name": "ansi/type", "value": "DECIMAL(10,2)"}]}]}]})
}

fn parts() -> Value {
    json!({"resourceType": "ViewDefinition", "name": "parts", "status": "active", "resource": "Observation",
        "select": [{"column": [{"name": "observation", "path": "id", "type": "id"}]},
            {"forEach": "component", "column": [
                {"name": "part", "path": "code.coding.code.first()", "type": "code"},
                {"name": "value", "path": "value.ofType(Quantity).value", "type": "decimal",
                    "tag": [{"name": "ansi/type", "value": "INTEGER"}]}]}]})
}
