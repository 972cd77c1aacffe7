//! What `explain` says of conditions on other resources and of includes: semi-joins with the plans of both sides, which
//! of them goes first, and the stages of a walk along references.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::small::{Small, small};

fn reference(ty: &str, id: String) -> Value {
    json!({"reference": format!("{ty}/{id}")})
}

fn records() -> Small {
    let observation = |at: usize| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final",
            "subject": reference("Patient", format!("p{}", at % 3)),
            "encounter": reference("Encounter", format!("e{}", at % 20)),
            "code": {"coding": [{"system": "http://loinc.org", "code": format!("1234-{}", at % 4)}]},
            "effectiveDateTime": format!("20{:02}-05-06", at % 20)})
    };
    let encounter = |at: usize| {
        json!({"resourceType": "Encounter", "id": format!("e{at}"), "status": "finished",
            "class": {"code": if at % 2 == 0 { "AMB" } else { "IMP" }},
            "subject": reference("Patient", format!("p{}", at % 3)),
            "serviceProvider": reference("Organization", format!("c{}", at % 2))})
    };
    let patient = |at: usize| {
        json!({"resourceType": "Patient", "id": format!("p{at}"), "gender": "female",
            "generalPractitioner": [reference("Practitioner", "d0".to_owned())]})
    };
    let location = |at: usize| {
        let mut location = json!({"resourceType": "Location", "id": format!("l{at}"), "name": format!("Ward {at}")});
        if at > 0 {
            location["partOf"] = reference("Location", format!("l{}", at - 1));
        }
        location
    };
    let mut all: Vec<Value> = (0..3).map(patient).collect();
    all.extend((0..60).map(observation));
    all.extend((0..20).map(encounter));
    all.extend((0..3).map(location));
    all.extend(
        (0..2)
            .map(|at| json!({"resourceType": "Organization", "id": format!("c{at}"), "name": format!("Clinic {at}")})),
    );
    all.push(json!({"resourceType": "Practitioner", "id": "d0", "gender": "male"}));
    all.push(
        json!({"resourceType": "List", "id": "k0", "status": "current", "mode": "working",
        "entry": [{"item": {"reference": "Observation/o1"}}, {"item": {"reference": "Observation/o5"}}]}),
    );
    small(&all)
}

/// The plans of searches, each with its query. Rows that come out of an operator are part of it, times are not.
fn check(queries: &[&str], expected: &Expect) {
    let records = records();
    let mut shown = String::new();
    for query in queries {
        writeln!(shown, "{query}").unwrap();
        let explained = records.explained(query);
        let steps = explained["steps"].as_array().unwrap();
        let plans = steps.iter().flat_map(|step| step["plans"].as_array().unwrap());
        for line in plans.flat_map(|plan| plan.as_str().unwrap().lines()) {
            let (line, metrics) = line.split_once(", metrics=[").unwrap_or((line, ""));
            let rows = metrics
                .split([',', ']'])
                .find_map(|metric| metric.trim().strip_prefix("output_rows="));
            match rows {
                Some(rows) => writeln!(shown, "  {line}, rows={rows}").unwrap(),
                None => writeln!(shown, "  {line}").unwrap(),
            }
        }
    }
    expected.assert_eq(&shown);
}

#[test]
fn what_a_reference_leads_to_is_found_by_the_same_plan() {
    check(
        &[
            "Observation?encounter.class=AMB&_count=5",
            "Observation?encounter.class=AMB&_summary=count",
            "Observation?encounter:Encounter.class=AMB&_sort=-date&_count=5",
            "Observation?encounter:Encounter.service-provider:Organization.name=Clinic 1&_count=5",
            "Encounter?_has:Observation:encounter:code=1234-1&_count=5",
        ],
        &expect![[""]],
    );
}

/// Whose rows a search can match at all is decided by whom its condition leads to, and so this is found before it is
/// planned.
#[test]
fn people_are_found_before_the_search_is_planned() {
    check(
        &[
            "Observation?subject:Patient.gender=female&_count=5",
            "Observation?subject:Patient._id=p1&_count=5",
            "Patient?_has:Observation:subject:code=1234-1&_count=5",
            "Observation?subject:Patient._has:Encounter:subject:class=IMP&_count=5",
            "Observation?subject:Patient.general-practitioner:Practitioner.gender=male&_count=5",
        ],
        &expect![[""]],
    );
}

#[test]
fn the_side_that_leaves_fewer_rows_goes_first() {
    check(
        &[
            "Observation?_id=o1,o2&encounter.class=AMB&_count=5",
            "Encounter?_id=e1,e2&_has:Observation:encounter:code=1234-1&_count=5",
            // What the first finds narrows the second.
            "Observation?_list=k0&encounter.class=IMP&_count=5",
        ],
        &expect![[""]],
    );
}

#[test]
fn lists_hierarchies_and_compartments() {
    check(
        &[
            "Observation?_list=k0&_count=5",
            "Location?partof:below=Location/l0&_count=5",
            "Patient/p1/Observation?code=1234-1&_count=5",
        ],
        &expect![[""]],
    );
}

#[test]
fn includes_are_walked_in_stages() {
    check(
        &[
            "Observation?_id=o1,o2&_include=Observation:encounter&_include:iterate=Encounter:service-provider",
            "Encounter?_id=e1,e2&_revinclude=Observation:encounter",
        ],
        &expect![[""]],
    );
}

/// The condition is a filter of the scan's like any other: what it leaves is decided on dictionary codes and, of few
/// ids, by the index, though it was not known when the scan was planned.
#[test]
fn ids_that_are_found_late_spare_the_scan_as_much() {
    let records = records();
    let scans = |query: &str| -> Vec<Value> {
        let explained = records.explained(query);
        let steps = explained["steps"].as_array().unwrap().iter();
        steps
            .flat_map(|step| step["scans"].as_array().unwrap().clone())
            .collect()
    };
    let of = |scans: &[Value], ty: &str| scans.iter().find(|scan| scan["type"] == ty).unwrap().clone();
    let late = of(&scans("Observation?encounter.class=AMB&_summary=count"), "Observation");
    let named: Vec<String> = (0..20).step_by(2).map(|at| format!("Encounter/e{at}")).collect();
    let query = format!("Observation?encounter={}&_summary=count", named.join(","));
    let known = of(&scans(&query), "Observation");
    for part in ["bytesByLeaf", "rows", "rowGroups", "files"] {
        assert_eq!(late[part], known[part], "{part}");
    }
    assert_eq!(late["rows"]["out"], 30);
    let own = of(&scans("Encounter?_has:Observation:encounter:code=1234-1"), "Encounter");
    assert_eq!(own["rows"]["out"], 5);
}
