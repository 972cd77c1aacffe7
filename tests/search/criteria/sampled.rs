//! Sampled data is searched by the range of its values.

use serde_json::{Value, json};

use super::super::small::small;

const UCUM: &str = "http://unitsofmeasure.org";

fn sampled(data: &str, more: Value) -> Value {
    let mut sampled = json!({"origin": {"value": 100, "unit": "mV", "system": UCUM, "code": "mV"}, "period": 10, "dimensions": 1,
        "data": data});
    sampled
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    sampled
}

fn curve(id: &str, sampled: Value) -> Value {
    json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"coding": [{"code": "ecg"}]},
        "valueSampledData": sampled})
}

#[test]
fn sampled_data_is_found_by_its_bounds() {
    let limits = json!({"lowerLimit": -5, "upperLimit": 40});
    let world = small(&[
        curve("plain", sampled("3 -1 E 7.5", json!({}))),
        curve("factor", sampled("1 2 3", json!({"factor": 10}))),
        curve("turned", sampled("1 2 3", json!({"factor": -2}))),
        curve("below", sampled("L 2", limits.clone())),
        curve("above", sampled("U 2", limits.clone())),
        curve("only-below", sampled("L", limits)),
        curve("unknown", sampled("L U", json!({}))),
        curve("errors", sampled("E E", json!({}))),
        json!({"resourceType": "Observation", "id": "part", "status": "final", "code": {"coding": [{"code": "x"}]},
            "component": [{"code": {"coding": [{"code": "ecg"}]}, "valueSampledData": sampled("50 60", json!({}))}]}),
        json!({"resourceType": "Observation", "id": "quantity", "status": "final", "code": {"text": "q"},
            "valueQuantity": {"value": 105, "unit": "mV", "system": UCUM, "code": "mV"}}),
    ]);
    // The ranges: plain 99 to 107.5, factor 110 to 130, turned 94 to 98, below up to 102, above from 102, only-below up
    // to 95.
    for (value, expected) in [
        ("gt107", "plain factor above"),
        ("gt107.5", "factor above"),
        ("ge107.5", "plain factor above"),
        ("lt99", "turned below only-below"),
        ("le99", "plain turned below only-below"),
        ("sa109", "factor"),
        ("sa101", "factor above quantity"),
        ("eb103", "turned below only-below"),
        ("1.2e2", ""),
        ("96", ""),
        ("ap104", "plain below above quantity turned only-below factor"),
        ("gt104", "plain factor above quantity"),
    ] {
        for form in [String::new(), format!("|{UCUM}|mV"), "||mV".to_owned()] {
            world.check(&[(&format!("Observation?value-quantity={value}{form}"), expected)]);
        }
        world.check(&[(&format!("Observation?value-quantity={value}||V"), "")]);
    }
    world.check(&[
        ("Observation?component-value-quantity=gt155", "part"),
        ("Observation?component-value-quantity=gt160", ""),
        ("Observation?combo-value-quantity=gt125", "factor above part"),
        // R4's composites apply only to Quantities.
        ("Observation?combo-code-value-quantity=ecg$gt125", ""),
        ("Observation?_filter=value-quantity gt 125", "factor above"),
        ("Observation?value-quantity=1e2", ""),
    ]);
    // Each is sorted by its lower bound, or descending by its upper bound. If a bound is open, the other one is used.
    let order = |query: &str| world.found(query).join(" ");
    let known = "_id=plain,factor,turned,below,above,only-below,quantity";
    assert_eq!(
        order(&format!("Observation?{known}&_sort=value-quantity,_id")),
        "turned only-below plain above below quantity factor"
    );
    assert_eq!(
        order(&format!("Observation?{known}&_sort=-value-quantity,_id")),
        "factor plain quantity above below turned only-below"
    );
}

/// Data with values below and above the measured range used to match nothing.
#[test]
fn sampled_data_beyond_both_limits_is_found_by_every_number() {
    let limits = json!({"lowerLimit": -5, "upperLimit": 40});
    let world = small(&[
        curve("open", sampled("L 3 U", json!({}))),
        curve("limited", sampled("U L", limits.clone())),
        curve("turned", sampled("L 3 U", json!({"factor": -2}))),
        curve("unknown", sampled("L U", json!({}))),
        curve("unknown-below", sampled("L E", json!({"upperLimit": 40}))),
        curve("empty", sampled("E E", limits)),
    ]);
    let all = "open limited turned";
    for (prefix, expected) in [
        ("gt", all),
        ("ge", all),
        ("lt", all),
        ("le", all),
        ("ap", all),
        ("ne", all),
        ("", ""),
        ("eq", ""),
        ("sa", ""),
        ("eb", ""),
    ] {
        for number in ["-1000000", "0", "103", "99999999999999999999999"] {
            for form in [String::new(), format!("|{UCUM}|mV"), "||mV".to_owned()] {
                world.check(&[(&format!("Observation?value-quantity={prefix}{number}{form}"), expected)]);
            }
            world.check(&[(&format!("Observation?value-quantity={prefix}{number}||V"), "")]);
        }
        // A long list of numbers is compared as a set.
        let many: Vec<String> = (0..80).map(|number| format!("{prefix}{number}.25")).collect();
        world.check(&[(&format!("Observation?value-quantity={}", many.join(",")), expected)]);
    }
    // Without a bound there is no number to sort by, so these come last.
    let found = world.found("Observation?_sort=value-quantity,_id&_id=open,limited,turned,empty");
    assert_eq!(found.join(" "), "empty limited open turned");
}
