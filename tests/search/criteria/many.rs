//! Long lists of values, which are looked up together, give the same matches as short ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::small::{Small, small};

const UCUM: &str = "http://unitsofmeasure.org";

/// Resources for the searches: some of them match each value of each kind.
fn world() -> Small {
    let mut all: Vec<Value> = Vec::new();
    for at in 0..40 {
        let coding = json!({"system": format!("http://s{}", at % 3), "code": format!("c{}", at % 7), "display": format!("Display of {at}")});
        all.push(json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final",
            "code": {"coding": [coding], "text": format!("Text {at}, spoken")},
            "subject": {"identifier": {"system": "http://ids", "value": format!("v{at}")}, "reference": format!("http://other/Patient/{at}")},
            "effectiveDateTime": format!("2020-01-{:02}", 1 + at % 28),
            "valueQuantity": {"value": at, "unit": "milligram", "system": UCUM, "code": if at % 2 == 0 { "mg" } else { "g" }}}));
        all.push(json!({"resourceType": "Patient", "id": format!("p{at}"),
            "name": [{"family": format!("Family{at} von Straße{at}"), "given": [format!("Given{at}")]}],
            "identifier": [{"type": {"coding": [{"system": "http://t", "code": format!("T{}", at % 4)}]}, "value": format!("v{at}")}]}));
        all.push(json!({"resourceType": "Questionnaire", "id": format!("q{at}"), "status": "active", "url": format!("http://q.org/a/b{at}/c")}));
        all.push(
            json!({"resourceType": "CarePlan", "id": format!("c{at}"), "status": "active", "intent": "plan",
            "subject": {"display": "x"}, "instantiatesCanonical": [format!("http://plan.org/{at}|1.{}", at % 3)]}),
        );
        all.push(json!({"resourceType": "RiskAssessment", "id": format!("r{at}"), "status": "final", "subject": {"display": "x"},
            "prediction": [{"probabilityDecimal": f64::from(at as u32) / 100.0}]}));
    }
    small(&all)
}

#[test]
fn many_values_find_what_few_of_them_find() {
    let world = world();
    for (parameter, form) in [
        (
            "Observation?code:text",
            (&|at| format!("display of {at}")) as &dyn Fn(usize) -> String,
        ),
        ("Observation?code:text", &|at| format!("TEXT {at} spoken")),
        ("Observation?code-value-quantity", &|at| {
            format!("http://s{}|c{}$gt{at}", at % 3, at % 7)
        }),
        ("Observation?code-value-quantity", &|at| format!("c{at}${at}")),
        ("Observation?combo-code-value-quantity", &|at| {
            format!("c{}$le{at}", at % 7)
        }),
        ("Observation?value-quantity", &|at| format!("{at}|{UCUM}|mg")),
        ("Observation?value-quantity", &|at| format!("{at}||milligram")),
        ("Observation?value-quantity", &|at| format!("{at}")),
        ("Observation?date", &|at| {
            format!("sa2020-01-{:02}T12:00:00Z", 20 + at % 8)
        }),
        ("Observation?date", &|at| format!("{}-01", 2_000 + at % 1_000)),
        ("Observation?subject", &|at| format!("http://other/Patient/{at}")),
        ("Observation?subject:identifier", &|at| format!("http://ids|V{at}")),
        ("Patient?family", &|at| format!("strasse{at}")),
        ("Patient?name", &|at| format!("given{at}")),
        ("Patient?given:exact", &|at| format!("Given{at}")),
        ("Patient?family:contains", &|at| format!("LY{at} VON")),
        ("Patient?identifier:of-type", &|at| {
            format!("http://t|t{}|v{at}", at % 4)
        }),
        ("Questionnaire?url", &|at| format!("http://q.org/a/b{at}/c")),
        ("Questionnaire?url:below", &|at| format!("http://q.org/a/b{at}")),
        ("Questionnaire?url:above", &|at| format!("http://q.org/a/b{at}/c/d")),
        ("CarePlan?instantiates-canonical", &|at| format!("http://plan.org/{at}")),
        ("CarePlan?instantiates-canonical:below", &|at| {
            format!("http://plan.org/{at}|1")
        }),
        ("RiskAssessment?probability", &|at| format!("0.{at:02}")),
    ] {
        let all: Vec<String> = (5..25).chain(1_000..1_180).map(form).collect();
        // So few values are compared one by one.
        let few = all
            .chunks(3)
            .flat_map(|few| world.found(&format!("{parameter}={}", few.join(","))));
        let expected: BTreeSet<String> = few.collect();
        assert!(!expected.is_empty(), "{parameter}");
        let found: BTreeSet<String> = world
            .found(&format!("{parameter}={}", all.join(",")))
            .into_iter()
            .collect();
        assert_eq!(found, expected, "{parameter}");
    }
}
