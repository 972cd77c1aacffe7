//! `explain` for conditions on other resources and for includes: semi-joins with the plans of both sides, the order of
//! execution, and the stages of following references.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::super::small::{Small, small};

fn reference(resource_type: &str, id: String) -> Value {
    json!({"reference": format!("{resource_type}/{id}")})
}

pub(in crate::search) fn records() -> Small {
    let observation = |at: usize| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final",
            "subject": reference("Patient", format!("p{}", at % 3)),
            "encounter": reference("Encounter", format!("e{}", at % 20)),
            "code": {"coding": [{"system": "http://loinc.org", "code": format!("1234-{}", at % 4)}]},
            "effectiveDateTime": format!("20{:02}-05-06", at % 20)})
    };
    let encounter = |at: usize| {
        json!({"resourceType": "Encounter", "id": format!("e{at}"), "status": "finished",
            "class": {"code": (["AMB", "IMP"][at % 2])},
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

/// Compares the plans of searches with the expected ones. They show output rows but no times.
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
        &expect![[r#"
            Observation?encounter.class=AMB&_count=5
              OrderedLimitExec: take=6, rows=6
                SemiJoinExec: on=[encounter.class=AMB]
                  LakeScanExec: columns=[__file, __row], items=[encounter.class=AMB], limit=6, rows=6
                  IdsExec: Encounter.id, rows=10
                    LakeScanExec: columns=[id], items=[class=AMB], rows=10
            Observation?encounter.class=AMB&_summary=count
              AggregateExec: mode=Single, gby=[], aggr=[count(*)], rows=1
                SemiJoinExec: on=[encounter.class=AMB]
                  LakeScanExec: columns=[], items=[encounter.class=AMB], rows=30
                  IdsExec: Encounter.id, rows=10
                    LakeScanExec: columns=[id], items=[class=AMB], rows=10
            Observation?encounter:Encounter.class=AMB&_sort=-date&_count=5
              SortExec: TopK(fetch=6), expr=[sort_date(effectiveDateTime__start@1, effectiveDateTime__end@2) DESC NULLS LAST, id@0 ASC NULLS LAST], preserve_partitioning=[false], rows=6
                SemiJoinExec: on=[encounter:Encounter.class=AMB]
                  LakeScanExec: columns=[id, effectiveDateTime__start, effectiveDateTime__end, __file, __row], items=[encounter:Encounter.class=AMB], order=best first, among the first 6 by sort_date, rows=6
                  IdsExec: Encounter.id, rows=10
                    LakeScanExec: columns=[id], items=[class=AMB], rows=10
            Observation?encounter:Encounter.service-provider:Organization.name=Clinic 1&_count=5
              OrderedLimitExec: take=6, rows=6
                SemiJoinExec: on=[encounter:Encounter.service-provider:Organization.name=Clinic 1]
                  LakeScanExec: columns=[__file, __row], items=[encounter:Encounter.service-provider:Organization.name=Clinic 1], limit=6, rows=6
                  IdsExec: Encounter.id, rows=10
                    SemiJoinExec: on=[service-provider:Organization.name=Clinic 1]
                      LakeScanExec: columns=[id], items=[service-provider:Organization.name=Clinic 1], rows=10
                      IdsExec: Organization.id, rows=1
                        LakeScanExec: columns=[id], predicates=[name=Clinic 1], rows=1
            Encounter?_has:Observation:encounter:code=1234-1&_count=5
              OrderedLimitExec: take=6, rows=5
                SemiJoinExec: on=[_has:Observation:encounter:code=1234-1]
                  LakeScanExec: columns=[__file, __row], items=[_has:Observation:encounter:code=1234-1], limit=6, rows=5
                  IdsExec: Encounter of Observation.encounter, rows=5
                    LakeScanExec: columns=[encounter.reference__type, encounter.reference__id], items=[code=1234-1], rows=15
        "#]],
    );
}

/// The target of a condition decides which owners' rows can match, so it is found before the search is planned.
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
        &expect![[r#"
            Observation?subject:Patient.gender=female&_count=5
              OrderedLimitExec: take=6, rows=6
                SemiJoinExec: on=[subject:Patient.gender=female]
                  LakeScanExec: columns=[__file, __row], items=[subject:Patient.gender=female], limit=6, rows=6
                  IdsExec: Patient.id, rows=3
                    LakeScanExec: columns=[id], items=[gender=female], rows=3
            Observation?subject:Patient._id=p1&_count=5
              IdsExec: Patient.id, rows=1
                LookupExec: Patient of one person, predicates=[_id=p1], rows=1
              LookupExec: Observation of one person, predicates=[subject:Patient._id=p1], skip=0, take=5, rows=5
            Patient?_has:Observation:subject:code=1234-1&_count=5
              OrderedLimitExec: take=6, rows=3
                SemiJoinExec: on=[_has:Observation:subject:code=1234-1]
                  LakeScanExec: columns=[__file, __row], items=[_has:Observation:subject:code=1234-1], limit=6, rows=3
                  IdsExec: Patient of Observation.subject, rows=3
                    LakeScanExec: columns=[subject.reference__type, subject.reference__id], items=[code=1234-1], rows=15
            Observation?subject:Patient._has:Encounter:subject:class=IMP&_count=5
              OrderedLimitExec: take=6, rows=6
                SemiJoinExec: on=[subject:Patient._has:Encounter:subject:class=IMP]
                  LakeScanExec: columns=[__file, __row], items=[subject:Patient._has:Encounter:subject:class=IMP], limit=6, rows=6
                  IdsExec: Patient.id, rows=3
                    SemiJoinExec: on=[_has:Encounter:subject:class=IMP]
                      LakeScanExec: columns=[id], items=[_has:Encounter:subject:class=IMP], rows=3
                      IdsExec: Patient of Encounter.subject, rows=3
                        LakeScanExec: columns=[subject.reference__type, subject.reference__id], items=[class=IMP], rows=10
            Observation?subject:Patient.general-practitioner:Practitioner.gender=male&_count=5
              OrderedLimitExec: take=6, rows=6
                SemiJoinExec: on=[subject:Patient.general-practitioner:Practitioner.gender=male]
                  LakeScanExec: columns=[__file, __row], items=[subject:Patient.general-practitioner:Practitioner.gender=male], limit=6, rows=6
                  IdsExec: Patient.id, rows=3
                    SemiJoinExec: on=[general-practitioner:Practitioner.gender=male]
                      LakeScanExec: columns=[id], items=[general-practitioner:Practitioner.gender=male], rows=3
                      IdsExec: Practitioner.id, rows=1
                        LakeScanExec: columns=[id], items=[gender=male], rows=1
        "#]],
    );
}

#[test]
fn the_side_that_leaves_fewer_rows_goes_first() {
    check(
        &[
            "Observation?_id=o1,o2&encounter.class=AMB&_count=5",
            "Encounter?_id=e1,e2&_has:Observation:encounter:code=1234-1&_count=5",
            // The ids found by the first plan narrow the second.
            "Observation?_list=k0&encounter.class=IMP&_count=5",
        ],
        &expect![[r#"
            Observation?_id=o1,o2&encounter.class=AMB&_count=5
              OrderedLimitExec: take=6, rows=1
                SemiJoinExec: on=[encounter.class=AMB]
                  LakeScanExec: columns=[__file, __row], items=[_id=o1,o2; encounter.class=AMB], limit=6, rows=1
                  IdsExec: Encounter.id, rows=1
                    SemiJoinExec: on=[referred to by the rows searched]
                      LakeScanExec: columns=[id], items=[referred to by the rows searched; class=AMB], rows=1
                      IdsExec: Encounter of Observation.encounter, rows=2
                        LakeScanExec: columns=[encounter.reference__type, encounter.reference__id], items=[_id=o1,o2], rows=2
            Encounter?_id=e1,e2&_has:Observation:encounter:code=1234-1&_count=5
              OrderedLimitExec: take=6, rows=1
                SemiJoinExec: on=[_has:Observation:encounter:code=1234-1]
                  LakeScanExec: columns=[__file, __row], items=[_has:Observation:encounter:code=1234-1; _id=e1,e2], limit=6, rows=1
                  IdsExec: Encounter of Observation.encounter, rows=1
                    SemiJoinExec: on=[refers to the rows searched]
                      LakeScanExec: columns=[encounter.reference__type, encounter.reference__id], items=[code=1234-1; refers to the rows searched], rows=3
                      IdsExec: Encounter.id, rows=2
                        LakeScanExec: columns=[id], items=[_id=e1,e2], rows=2
            Observation?_list=k0&encounter.class=IMP&_count=5
              OrderedLimitExec: take=6, rows=2
                SemiJoinExec: on=[encounter.class=IMP]
                  SemiJoinExec: on=[_list=k0]
                    LakeScanExec: columns=[__file, __row], items=[_list=k0; encounter.class=IMP], limit=6, rows=2
                    IdsExec: Observation of List.item, rows=2
                      LookupExec: entries of List/k0, rows=2
                  IdsExec: Encounter.id, rows=2
                    SemiJoinExec: on=[referred to by the rows searched]
                      LakeScanExec: columns=[id], items=[referred to by the rows searched; class=IMP], rows=2
                      IdsExec: Encounter of Observation.encounter, rows=2
                        LakeScanExec: columns=[encounter.reference__type, encounter.reference__id], items=[_list=k0], rows=2
        "#]],
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
        &expect![[r#"
            Observation?_list=k0&_count=5
              OrderedLimitExec: take=6, rows=2
                SemiJoinExec: on=[_list=k0]
                  LakeScanExec: columns=[__file, __row], items=[_list=k0], limit=6, rows=2
                  IdsExec: Observation of List.item, rows=2
                    LookupExec: entries of List/k0, rows=2
            Location?partof:below=Location/l0&_count=5
              OrderedLimitExec: take=6, rows=2
                SemiJoinExec: on=[partof:below=Location/l0]
                  LakeScanExec: columns=[__file, __row], items=[partof:below=Location/l0], limit=6, rows=2
                  IdsExec: Location.id, rows=1
                    LakeScanExec: columns=[id], items=[under those found before], rows=1
                  IdsExec: Location.id, rows=1
                    LakeScanExec: columns=[id], items=[under those found before], rows=1
                  IdsExec: Location.id, rows=0
                    LakeScanExec: columns=[id], items=[under those found before], rows=0
            Patient/p1/Observation?code=1234-1&_count=5
              OrderedLimitExec: take=6, rows=5
                LakeScanExec: columns=[__file, __row], items=[code=1234-1; subject=Patient/p1 or performer=Patient/p1], limit=6, rows=5
        "#]],
    );
}

#[test]
fn includes_are_walked_in_stages() {
    check(
        &[
            "Observation?_id=o1,o2&_include=Observation:encounter&_include:iterate=Encounter:service-provider",
            "Encounter?_id=e1,e2&_revinclude=Observation:encounter",
        ],
        &expect![[r#"
            Observation?_id=o1,o2&_include=Observation:encounter&_include:iterate=Encounter:service-provider
              OrderedLimitExec: take=21, rows=2
                LakeScanExec: columns=[__file, __row], items=[_id=o1,o2], limit=21, rows=2
              Include: Observation:encounter, round=1, of=2 Observation, found=2
                LookupExec: Encounter by id, ids=2, rows=2
              Include: Encounter:service-provider, round=2, of=2 Encounter, found=2
                LookupExec: Organization by id, ids=2, rows=2
            Encounter?_id=e1,e2&_revinclude=Observation:encounter
              OrderedLimitExec: take=21, rows=2
                LakeScanExec: columns=[__file, __row], items=[_id=e1,e2], limit=21, rows=2
              Revinclude: Observation:encounter, round=1, of=2 Encounter, found=6
                OrderedLimitExec: take=1000001, rows=6
                  LakeScanExec: columns=[__file, __row], items=[encounter refers to 2 matches], limit=1000001, rows=6
        "#]],
    );
}

/// The condition is a filter of the scan, although it was unknown when the scan was planned. Dictionary codes decide
/// it, and for few ids the index.
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
    let of =
        |scans: &[Value], resource_type: &str| scans.iter().find(|scan| scan["type"] == resource_type).unwrap().clone();
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
