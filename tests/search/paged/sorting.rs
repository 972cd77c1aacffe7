//! `_sort` by all types of parameters, over the population and for one person. Of several values the first one in the
//! order decides. Rows without a value come last in both directions, and equal rows are ordered by id.

use serde_json::{Value, json};

use tabularium::fhir::search_parameter::SearchParameters;

use super::super::small::{small, with_parameters};
use crate::harness::records;

fn observation(id: &str, more: Value) -> Value {
    let mut made = json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "x"},
        "subject": {"reference": "Patient/p"}});
    made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    made
}

#[test]
fn by_every_type_of_parameter_both_ways() {
    let risk = |id: &str, probabilities: &[f64]| {
        let predictions: Vec<Value> = probabilities.iter().map(|p| json!({"probabilityDecimal": p})).collect();
        json!({"resourceType": "RiskAssessment", "id": id, "status": "final", "subject": {"reference": "Patient/p"},
            "prediction": predictions})
    };
    let quantity = |value: f64| json!({"valueQuantity": {"value": value}});
    let world = small(&[
        json!({"resourceType": "Patient", "id": "p", "name": [{"family": "Zeta"}, {"family": "alpha"}]}),
        observation(
            "a",
            json!({"status": "registered", "effectiveDateTime": "2020-01-02", "valueString": "b", "encounter": {"reference": "Encounter/2"},
            "category": [{"coding": [{"code": "m"}, {"code": "y"}]}, {"coding": [{"code": "c"}]}]}),
        ),
        observation(
            "b",
            json!({"effectivePeriod": {"start": "2020-01-01", "end": "2020-12-31"}, "valueString": "Ä", "encounter": {"reference": "Encounter/1"},
            "category": [{"coding": [{"code": "b"}]}, {"coding": [{"code": "z"}]}]}),
        ),
        observation("c", quantity(3.0)),
        observation("d", quantity(20.0)),
        observation("e", quantity(-1.5)),
        observation("f", json!({"effectiveDateTime": "2020-01-02"})),
        risk("r1", &[0.5, 0.1]),
        risk("r2", &[0.3]),
        risk("r3", &[]),
        risk("r4", &[0.5]),
        json!({"resourceType": "ImmunizationRecommendation", "id": "i", "patient": {"reference": "Patient/p"}, "date": "2024-01-01",
            "recommendation": [{"forecastStatus": {"text": "x"}}]}),
        json!({"resourceType": "CarePlan", "id": "u1", "status": "active", "intent": "plan", "subject": {"reference": "Patient/p"},
            "instantiatesUri": ["http://b.org", "http://d.org"]}),
        json!({"resourceType": "CarePlan", "id": "u2", "status": "active", "intent": "plan", "subject": {"reference": "Patient/p"},
            "instantiatesUri": ["http://c.org"]}),
        json!({"resourceType": "CarePlan", "id": "u3", "status": "active", "intent": "plan", "subject": {"reference": "Patient/p"}}),
        json!({"resourceType": "Patient", "id": "q", "name": [{"family": "Beta"}]}),
    ]);
    let application = records::application("local");
    let person = records::patient(&world.lake, "local", "p");
    for (query, expected) in [
        // Dates: ascending by a Period's start, descending by its end.
        ("Observation?_sort=date", "b a f c d e"),
        ("Observation?_sort=-date", "b a f c d e"),
        ("Observation?_sort=value-quantity", "e c d a b f"),
        ("Observation?_sort=-value-quantity", "d c e a b f"),
        ("Observation?_sort=value-string", "b a c d e f"),
        ("Observation?_sort=-value-string", "a b c d e f"),
        ("Observation?_sort=encounter", "b a c d e f"),
        ("Observation?_sort=-encounter", "a b c d e f"),
        ("Observation?_sort=category", "b a c d e f"),
        ("Observation?_sort=-category", "b a c d e f"),
        ("Observation?_sort=status,-date,category", "b f c d e a"),
        ("Observation?_sort=-_id", "f e d c b a"),
        ("Observation?_sort=code", "a b c d e f"),
        ("RiskAssessment?_sort=probability", "r1 r2 r4 r3"),
        ("RiskAssessment?_sort=-probability", "r1 r4 r2 r3"),
        ("CarePlan?_sort=instantiates-uri", "u1 u2 u3"),
        ("CarePlan?_sort=-instantiates-uri", "u1 u2 u3"),
    ] {
        for count in [2, 20] {
            let query = format!("{query}&_count={count}");
            let expected: Vec<&str> = expected.split(' ').collect();
            assert_eq!(world.found(&query), expected, "{query}");
            assert_eq!(world.found_by(&person, &query), expected, "{query} by the patient");
            let (head, rest) = query.split_once('?').unwrap();
            let bound = format!("{head}?subject=Patient/p&{rest}");
            assert_eq!(world.found_by(&application, &bound), expected, "{bound}");
        }
    }
    assert_eq!(world.found("Patient?_sort=family"), ["p", "q"]);
    assert_eq!(world.found("Patient?_sort=-family"), ["p", "q"]);
    world.refused(&[
        ("Observation?_sort=code-value-quantity", "code-value-quantity"),
        ("Location?_sort=near", "near"),
        ("Observation?_sort=nothing", "nothing"),
        ("Observation?_sort=_score", "_score"),
    ]);
}

#[test]
fn several_types_by_any_key_they_share() {
    let event = |resource_type: &str, id: &str, status: &str, date: Option<&str>| {
        let mut made =
            json!({"resourceType": resource_type, "id": id, "status": status, "subject": {"reference": "Patient/p"}});
        let element = if resource_type == "Procedure" {
            "performedDateTime"
        } else {
            "effectiveDateTime"
        };
        date.into_iter().for_each(|date| made[element] = json!(date));
        made
    };
    let world = small(&[
        json!({"resourceType": "Patient", "id": "p"}),
        event("Observation", "o1", "final", Some("2020-03-01")),
        event("Observation", "o2", "amended", Some("2020-01-01")),
        event("Observation", "same", "final", None),
        event("Procedure", "p1", "completed", Some("2020-02-01")),
        event("Procedure", "p2", "final", Some("2020-03-01")),
        event("Procedure", "same", "final", None),
        event("DiagnosticReport", "d1", "final", Some("2019")),
    ]);
    let application = records::application("local");
    let person = records::patient(&world.lake, "local", "p");
    let types = "?_type=Observation,Procedure,DiagnosticReport";
    for (sort, expected) in [
        ("date", "d1 o2 p1 o1 p2 same same"),
        ("-date", "o1 p2 p1 o2 d1 same same"),
        ("status,-date", "o2 p1 o1 p2 d1 same same"),
        ("-patient,_id", "d1 o1 o2 p1 p2 same same"),
        ("-_id", "same same p2 p1 o2 o1 d1"),
    ] {
        for count in [1, 3, 20] {
            for scope in [&application, &person] {
                let urls = world.urls(scope, &format!("{types}&_sort={sort}&_count={count}"));
                let ids: Vec<&str> = urls.iter().map(|url| url.split('/').nth(1).unwrap()).collect();
                assert_eq!(ids.join(" "), expected, "{sort} {count}");
                // If all keys are equal, the types come in the order of the request.
                let same: Vec<&String> = urls.iter().filter(|url| url.ends_with("same")).collect();
                assert_eq!(same, ["Observation/same", "Procedure/same"], "{sort}");
            }
        }
    }
    world.refused(&[
        ("?_type=Observation,Procedure&_sort=value-quantity", "_sort"),
        ("?_sort=date", "_sort"),
        ("?_type=Observation,Procedure&value-quantity=1", "value-quantity"),
        ("?_type=Observation,Procedure&_sort=_id&_offset=300000", "_offset"),
    ]);
}

/// A parameter's expression may visit all parts of a resource.
#[test]
fn by_whatever_lies_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let parameter = json!({"resourceType": "SearchParameter", "url": "http://example.org/any", "name": "any", "status": "active",
        "description": "any date", "code": "any-date", "base": ["Encounter"], "type": "date",
        "expression": "Encounter.descendants().ofType(dateTime)"});
    std::fs::write(folder.path().join("any.json"), parameter.to_string()).unwrap();
    let parameters = SearchParameters::builtin().with_folder(folder.path()).unwrap();
    let class = json!({"code": "AMB"});
    let encounter = |id: &str, more: Value| {
        let mut made = json!({"resourceType": "Encounter", "id": id, "status": "finished", "class": class,
            "subject": {"reference": "Patient/p"}});
        made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        made
    };
    let world = with_parameters(
        &[
            json!({"resourceType": "Patient", "id": "p"}),
            encounter("a", json!({"participant": [{"period": {"start": "2020"}}]})),
            encounter("b", json!({"participant": [{"period": {"start": "2010"}}]})),
            encounter(
                "c",
                json!({"statusHistory": [{"status": "planned", "period": {"start": "2005"}}]}),
            ),
            encounter(
                "d",
                json!({"location": [{"location": {"display": "x"}, "period": {"start": "2000"}}]}),
            ),
        ],
        parameters.into(),
    );
    let application = records::application("local");
    let person = records::patient(&world.lake, "local", "p");
    for scope in [application, person] {
        for query in ["", "status=finished&", "patient=p&"] {
            for (sort, expected) in [("any-date", "d c b a"), ("-any-date", "a b c d")] {
                let found = world.found_by(&scope, &format!("Encounter?{query}_sort={sort}"));
                assert_eq!(found.join(" "), expected, "{query} {sort}");
            }
        }
    }
}
