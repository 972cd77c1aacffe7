//! The examples of R4's search page (<http://hl7.org/fhir/R4/search.html>), section by section, over resources like
//! those in its text.

mod answers;
mod codes;
mod together;
mod values;

use serde_json::{Value, json};

const UCUM: &str = "http://unitsofmeasure.org";
const LOINC: &str = "http://loinc.org";

fn patient(id: &str, more: Value) -> Value {
    of("Patient", id, more)
}

fn observation(id: &str, more: Value) -> Value {
    let mut made = of("Observation", id, more);
    for (name, value) in [("status", json!("final")), ("code", json!({"text": "x"}))] {
        if made[name].is_null() {
            made[name] = value;
        }
    }
    made
}

fn of(resource_type: &str, id: &str, more: Value) -> Value {
    let mut made = json!({"resourceType": resource_type, "id": id});
    made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    made
}

fn coded(system: &str, code: &str) -> Value {
    json!({"coding": [{"system": system, "code": code}]})
}
