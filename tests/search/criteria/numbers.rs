//! Numbers and quantities: ranges that the scan decides, and the rows that it must keep.

use serde_json::{Value, json};

use super::super::small::small;

fn observation(id: impl Into<String>, quantity: Value) -> Value {
    json!({"resourceType": "Observation", "id": id.into(), "status": "final", "code": {"text": "x"},
        "valueQuantity": quantity})
}

fn counted() -> impl Iterator<Item = Value> {
    (0..60).map(|at| observation(format!("n{at}"), json!({"value": at, "unit": "mg"})))
}

/// A number that the column cannot hold, and one that stands for others, are found as well.
#[test]
fn quantities_are_found_whatever_the_scan_decides() {
    let mut all: Vec<Value> = counted().collect();
    all.push(observation("half", json!({"value": 5.5})));
    all.push(observation("near", json!({"value": 4.75})));
    all.push(observation("below", json!({"value": 50, "comparator": "<"})));
    all.push(observation("huge", json!({"value": 1e30})));
    let world = small(&all);
    world.check(&[
        ("Observation?value-quantity=5", "n5 near"),
        ("Observation?value-quantity=5.0", "n5"),
        ("Observation?value-quantity=5||mg", "n5"),
        ("Observation?value-quantity=gt58", "n59 huge"),
        ("Observation?value-quantity=ge59", "n59 huge"),
        ("Observation?value-quantity=sa58", "n59 huge"),
        ("Observation?value-quantity=lt2", "n0 n1 below"),
        ("Observation?value-quantity=le0", "n0 below"),
        ("Observation?value-quantity=eb1", "n0"),
        ("Observation?value-quantity=ap10", "n9 n10 n11 below"),
        ("Observation?value-quantity=1e30", "huge"),
        ("Observation?value-quantity=gt58,2", "n2 n59 huge"),
        // The scan sees so many values as one range.
        (
            "Observation?value-quantity=1,2,3,4,5,6,7,8,9,10",
            "n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 half near",
        ),
    ]);
}

#[test]
fn probabilities_are_found_as_decimals_and_as_ranges() {
    let risk = |id: &str, probability: Value| {
        let mut prediction = json!({});
        prediction
            .as_object_mut()
            .unwrap()
            .extend(probability.as_object().unwrap().clone());
        json!({"resourceType": "RiskAssessment", "id": id, "status": "final",
            "subject": {"reference": "Group/g"}, "prediction": [prediction]})
    };
    let world = small(&[
        risk("low", json!({"probabilityDecimal": 0.2})),
        risk("high", json!({"probabilityDecimal": 0.8})),
        risk(
            "range",
            json!({"probabilityRange": {"low": {"value": 0.6}, "high": {"value": 0.9}}}),
        ),
    ]);
    world.check(&[
        ("RiskAssessment?probability=gt0.5", "high range"),
        ("RiskAssessment?probability=lt0.5", "low"),
        ("RiskAssessment?probability=0.20", "low"),
        ("RiskAssessment?probability=gt0.85", "range"),
    ]);
}

/// The scan that a search ran.
fn scan(explained: &Value) -> Value {
    let steps = explained["steps"].as_array().unwrap().iter();
    let mut scans = steps.flat_map(|step| step["scans"].as_array().unwrap().clone());
    scans.find(|scan| scan["type"] == "Observation").unwrap()
}

#[test]
fn statistics_and_codes_decide_numbers() {
    let all: Vec<Value> = counted().collect();
    let world = small(&all);
    let refuted = scan(&world.explained("Observation?value-quantity=gt1000"));
    assert_eq!(refuted["rows"]["out"], 0, "{refuted}");
    assert_eq!(refuted["rowGroups"]["read"], 0, "{refuted}");
    let few = scan(&world.explained("Observation?value-quantity=gt57"));
    let conditions = few["conditions"].as_array().unwrap();
    let program = conditions
        .iter()
        .find(|step| step["condition"] == "value-quantity=gt57");
    assert_eq!(program.unwrap()["rowsIn"], 2, "{few}");
    // One number that is only a text may be any.
    let with_huge: Vec<Value> = all
        .into_iter()
        .chain([observation("huge", json!({"value": 1e30}))])
        .collect();
    let world = small(&with_huge);
    let found = scan(&world.explained("Observation?value-quantity=gt1000"));
    assert_eq!(found["rows"]["out"], 1, "{found}");
}
