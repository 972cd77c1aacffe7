//! Generated InsurancePlans contain the loaded data.

use serde_json::{Value, json};

use super::files::{ROWS_2026, landscape_2026};
use super::{World, done};

fn found(world: &World) -> Value {
    let bundle: Value = serde_json::from_str(&done(&world.data(), &["search", "InsurancePlan"])).unwrap();
    assert_eq!(bundle["entry"].as_array().unwrap().len(), 1, "{bundle}");
    bundle["entry"][0]["resource"].clone()
}

#[test]
fn an_import_names_the_plan_and_tells_where_it_is_offered() {
    let world = World::new();
    world.load(&[&world.file("CY2026_Landscape_202603.csv", landscape_2026(&ROWS_2026))]);
    let class = json!([{"type": {"coding": [{"code": "plan"}]}, "value": "H9001-001", "name": "My Gold"}]);
    let coverage = json!({"resourceType": "Coverage", "id": "c", "status": "active", "class": class,
        "beneficiary": {"reference": "Patient/p"}, "payor": [{"reference": "Organization/o"}],
        "period": {"start": "2026-01-01", "end": "2026-12-31"}});
    let lines = [
        json!({"resourceType": "Patient", "id": "p"}),
        json!({"resourceType": "Organization", "id": "o"}),
        coverage,
    ];
    let records = world.file("records.ndjson", lines.map(|line| format!("{line}\n")).concat());
    done(&world.data(), &["import", "--normalize", &records]);
    let plan = found(&world);
    assert_eq!(
        (&plan["name"], &plan["alias"]),
        (&json!("Café Gold (HMO)"), &json!(["My Gold"]))
    );
    assert_eq!(plan["period"], json!({"start": "2026-01-01", "end": "2026-12-31"}));
    let owner = json!({"reference": "Organization/o", "display": "Ours"});
    assert_eq!(plan["ownedBy"], owner);
    let areas: Vec<&Value> = plan["coverageArea"].as_array().unwrap().iter().collect();
    assert_eq!(
        areas,
        [
            &json!({"reference": "#area-1", "display": "Cook, IL"}),
            &json!({"reference": "#area-2", "display": "Doña, IL"})
        ]
    );
    assert_eq!(
        plan["contained"][1]["address"],
        json!({"district": "Doña", "state": "IL", "country": "US"})
    );
    let costs = plan["plan"][0]["generalCost"].as_array().unwrap().iter();
    let costs: Vec<String> = costs
        .map(|cost| format!("{} {}", cost["type"]["text"], cost["cost"]["value"]))
        .collect();
    assert_eq!(
        costs,
        [
            r#""Monthly premium" 10.0"#,
            r#""Monthly premium of Part C" -2.3"#,
            r#""Monthly premium of Part D" 12.3"#
        ]
    );
}
