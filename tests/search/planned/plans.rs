//! `explain` for plans: the filter, the part that the scan takes over, the order and the limit.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::super::corpus::link;
use super::super::small::{BASE, Small, small};

fn records() -> Small {
    let observation = |at: usize| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final",
            "subject": {"reference": format!("Patient/p{}", at % 3)},
            "code": {"coding": [{"system": "http://loinc.org", "code": format!("1234-{}", at % 4)}]},
            "effectiveDateTime": format!("20{:02}-05-06", at % 20),
            "valueQuantity": {"value": at, "unit": "mg"}})
    };
    let patients = (0..3).map(|at| {
        json!({"resourceType": "Patient", "id": format!("p{at}"), "birthDate": format!("19{at}0-01-01"),
            "gender": "female", "name": [{"family": format!("Nautius{at}")}]})
    });
    let all: Vec<Value> = patients.chain((0..60).map(observation)).collect();
    small(&all)
}

/// Compares the plans of searches with the expected ones.
fn check(queries: &[&str], expected: &Expect) {
    let records = records();
    let mut shown = String::new();
    for query in queries {
        show(&records, query, query, &mut shown);
    }
    expected.assert_eq(&shown);
}

/// Writes the plans of a search under a name.
fn show(records: &Small, name: &str, query: &str, shown: &mut String) {
    writeln!(shown, "{name}").unwrap();
    let explained = records.explained(query);
    let steps = explained["steps"].as_array().unwrap();
    let plans: Vec<&Value> = steps
        .iter()
        .flat_map(|step| step["plans"].as_array().unwrap())
        .collect();
    if plans.is_empty() {
        writeln!(shown, "  {}", explained["searches"][0]["way"].as_str().unwrap()).unwrap();
    }
    for line in plans.iter().flat_map(|plan| plan.as_str().unwrap().lines()) {
        // Times differ from run to run.
        let line = line.split(", metrics=[").next().unwrap();
        writeln!(shown, "  {line}").unwrap();
    }
}

#[test]
fn counts_and_pages_of_a_population() {
    check(
        &[
            "Observation?_summary=count",
            "Observation?code=1234-1&_summary=count",
            "Observation?code=http://loinc.org|1234-1&date=ge2010&_summary=count",
            "Observation?code=1234-1&_count=5",
            "Observation?_count=5&_offset=10",
            "Observation?status=final,amended&_count=5",
            "Observation?status:not=final&_count=5",
            "Observation?value-quantity=gt30&date=2012&_count=5",
            "Observation?method:missing=false&_count=5",
            "Observation?_id=o1,o2&_count=5",
            "Patient?family=nautius1&gender=female&_count=5",
            "Patient?birthdate=lt1915&_count=5",
            "Patient?_lastUpdated=ge2020&_count=5",
        ],
        &expect![[r#"
            Observation?_summary=count
              AggregateExec: mode=Single, gby=[], aggr=[count(*)]
                LakeScanExec: columns=[]
            Observation?code=1234-1&_summary=count
              AggregateExec: mode=Single, gby=[], aggr=[count(*)]
                LakeScanExec: columns=[], items=[code=1234-1]
            Observation?code=http://loinc.org|1234-1&date=ge2010&_summary=count
              AggregateExec: mode=Single, gby=[], aggr=[count(*)]
                LakeScanExec: columns=[], prune=[((effectiveDateTime__start >= 1262304000000000 or effectiveDateTime__end >= 1293840000000001) or (effectivePeriod.start__start >= 1262304000000000 or (effectivePeriod.end__end >= 1293840000000001 or effectivePeriod.start__start exists without effectivePeriod.end__end)) or effectiveTiming.event__start exists or effectiveTiming.event__end exists or effectiveTiming.repeat.boundsPeriod.start__start exists or effectiveTiming.repeat.boundsPeriod.end__end exists or (effectiveInstant__start >= 1262304000000000 or effectiveInstant__end >= 1293840000000001))], items=[code=http://loinc.org|1234-1], predicates=[date=ge2010]
            Observation?code=1234-1&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], items=[code=1234-1], limit=6
            Observation?_count=5&_offset=10
              OrderedLimitExec: skip=10, take=6
                LakeScanExec: columns=[__file, __row], limit=16
            Observation?status=final,amended&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], items=[status=final,amended], limit=6
            Observation?status:not=final&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], predicates=[status:not=final], limit=6
            Observation?value-quantity=gt30&date=2012&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], prune=[((valueQuantity.value__number >= 30000000000000000001 or valueQuantity.comparator exists or valueSampledData.data exists) and ((effectiveDateTime__start >= 1325376000000000 and effectiveDateTime__end <= 1356998400000000) or (effectivePeriod.start__start >= 1325376000000000 and effectivePeriod.end__end <= 1356998400000000) or effectiveTiming.event__start exists or effectiveTiming.event__end exists or effectiveTiming.repeat.boundsPeriod.start__start exists or effectiveTiming.repeat.boundsPeriod.end__end exists or (effectiveInstant__start >= 1325376000000000 and effectiveInstant__end <= 1356998400000000)))], predicates=[value-quantity=gt30; date=2012], limit=6
            Observation?method:missing=false&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], predicates=[method:missing=false], limit=6
            Observation?_id=o1,o2&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], items=[_id=o1,o2], limit=6
            Patient?family=nautius1&gender=female&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], items=[gender=female], predicates=[family=nautius1], limit=6
            Patient?birthdate=lt1915&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], prune=[(birthDate__start <= -1735689600000001)], predicates=[birthdate=lt1915], limit=6
            Patient?_lastUpdated=ge2020&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], prune=[((meta.lastUpdated__start >= 1577836800000000 or meta.lastUpdated__end >= 1609459200000001))], predicates=[_lastUpdated=ge2020], limit=6
        "#]],
    );
}

#[test]
fn orders() {
    check(
        &[
            "Observation?_sort=-date&_count=5",
            "Observation?code=1234-1&_sort=date,-code&_count=5&_offset=3",
            "Patient?_sort=family&_count=2",
        ],
        &expect![[r#"
            Observation?_sort=-date&_count=5
              SortExec: TopK(fetch=6), expr=[sort_date(effectiveDateTime__start@1, effectiveDateTime__end@2) DESC NULLS LAST, id@0 ASC NULLS LAST], preserve_partitioning=[false]
                LakeScanExec: columns=[id, effectiveDateTime__start, effectiveDateTime__end, __file, __row], order=best first, among the first 6 by sort_date
            Observation?code=1234-1&_sort=date,-code&_count=5&_offset=3
              GlobalLimitExec: skip=3, fetch=6
                SortExec: TopK(fetch=9), expr=[sort_date(effectiveDateTime__start@2, effectiveDateTime__end@3) ASC NULLS LAST, sort_code(code@1) DESC NULLS LAST, id@0 ASC NULLS LAST], preserve_partitioning=[false]
                  LakeScanExec: columns=[id, code.coding.system, code.coding.code, effectiveDateTime__start, effectiveDateTime__end, __file, __row], items=[code=1234-1], order=best first, among the first 9 by sort_date
            Patient?_sort=family&_count=2
              SortExec: TopK(fetch=3), expr=[sort_family(name@1) ASC NULLS LAST, id@0 ASC NULLS LAST], preserve_partitioning=[false]
                LakeScanExec: columns=[id, name.family, __file, __row], among the first 3 by sort_family
        "#]],
    );
}

#[test]
fn other_resources_are_asked_first() {
    check(
        &[
            "Observation?subject:Patient.gender=female&_count=5",
            "Patient?_has:Observation:subject:code=1234-1&_count=5",
            "Observation?subject=Patient/p1,Patient/p2&code=1234-1&_count=5",
        ],
        &expect![[r#"
            Observation?subject:Patient.gender=female&_count=5
              OrderedLimitExec: take=6
                SemiJoinExec: on=[subject:Patient.gender=female]
                  LakeScanExec: columns=[__file, __row], items=[subject:Patient.gender=female], limit=6
                  IdsExec: Patient.id
                    LakeScanExec: columns=[id], items=[gender=female]
            Patient?_has:Observation:subject:code=1234-1&_count=5
              OrderedLimitExec: take=6
                SemiJoinExec: on=[_has:Observation:subject:code=1234-1]
                  LakeScanExec: columns=[__file, __row], items=[_has:Observation:subject:code=1234-1], limit=6
                  IdsExec: Patient of Observation.subject
                    LakeScanExec: columns=[subject.reference__type, subject.reference__id], items=[code=1234-1]
            Observation?subject=Patient/p1,Patient/p2&code=1234-1&_count=5
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], items=[subject=Patient/p1,Patient/p2; code=1234-1], limit=6
        "#]],
    );
}

#[test]
fn a_persons_searches_are_one_operator() {
    check(
        &[
            "Observation?subject=Patient/p1&code=1234-1&_sort=date",
            "Patient?_id=p1",
            "Observation?subject=Patient/p1&_summary=count",
            "?_type=Observation,Patient&_id=p1&_sort=_id&_count=2",
        ],
        &expect![[r#"
            Observation?subject=Patient/p1&code=1234-1&_sort=date
              LookupExec: Observation of one person, predicates=[subject=Patient/p1; code=1234-1], order=[date, id], skip=0, take=20
            Patient?_id=p1
              LookupExec: Patient of one person, predicates=[_id=p1], skip=0, take=20
            Observation?subject=Patient/p1&_summary=count
              LookupExec: Observation of one person, predicates=[subject=Patient/p1], count
            ?_type=Observation,Patient&_id=p1&_sort=_id&_count=2
              Sort: __key0 ASC NULLS LAST, Observation.id ASC NULLS LAST, fetch=3
                Projection: sort__id(Observation.id) AS __key0, Observation.id, Observation.__file, Observation.__row
                  TableScan: Observation projection=[id, __file, __row], full_filters=[[_id=p1](Observation.id)]
              SortExec: TopK(fetch=3), expr=[__key0@0 ASC NULLS LAST, id@1 ASC NULLS LAST], preserve_partitioning=[false]
                ProjectionExec: expr=[sort__id(id@0) as __key0, id@0 as id, __file@1 as __file, __row@2 as __row]
                  LakeScanExec: columns=[id, __file, __row], items=[_id=p1]
              LookupExec: Patient of one person, predicates=[_id=p1], order=[_id, id], take=3
        "#]],
    );
}

/// The linked pages: the second, the first from the second, and the last.
#[test]
fn pages_are_walked_in_either_direction() {
    let records = records();
    let mut shown = String::new();
    for first in [
        "Observation?code=1234-1&_count=5",
        "Observation?code=1234-1&_sort=-date&_count=5",
    ] {
        let led_to = |page: &str, relation: &str| {
            let url = link(&records.page(page).unwrap(), relation).unwrap();
            url.strip_prefix(BASE).unwrap().to_owned()
        };
        let second = led_to(first, "next");
        show(&records, &format!("{first}, next"), &second, &mut shown);
        let back = led_to(&second, "previous");
        show(&records, &format!("{first}, next, previous"), &back, &mut shown);
    }
    expect![[r#"
        Observation?code=1234-1&_count=5, next
          OrderedLimitExec: take=6
            LakeScanExec: columns=[__file, __row], items=[code=1234-1], part=from a row on, limit=6
        Observation?code=1234-1&_count=5, next, previous
          OrderedLimitExec: take=5, backwards
            LakeScanExec: columns=[__file, __row], items=[code=1234-1], part=up to a row
        Observation?code=1234-1&_sort=-date&_count=5, next
          SortExec: TopK(fetch=6), expr=[sort_date(effectiveDateTime__start@1, effectiveDateTime__end@2) DESC NULLS LAST, id@0 ASC NULLS LAST], preserve_partitioning=[false]
            LakeScanExec: columns=[id, effectiveDateTime__start, effectiveDateTime__end, __file, __row], items=[code=1234-1], predicates=[on the page's side of a match], order=best first, among the first 6 by sort_date
        Observation?code=1234-1&_sort=-date&_count=5, next, previous
          SortExec: TopK(fetch=5), expr=[sort_date(effectiveDateTime__start@1, effectiveDateTime__end@2) ASC, id@0 DESC], preserve_partitioning=[false]
            LakeScanExec: columns=[id, effectiveDateTime__start, effectiveDateTime__end, __file, __row], items=[code=1234-1], predicates=[on the page's side of a match], among the first 5 by sort_date
    "#]].assert_eq(&shown);
}

#[test]
fn several_types_are_a_plan_each() {
    check(
        &[
            "?_type=Patient,Observation&_count=4",
            "?_type=Patient,Observation&_sort=_lastUpdated&_count=4",
            "?_type=Patient,Observation&_summary=count",
        ],
        &expect![[r#"
            ?_type=Patient,Observation&_count=4
              OrderedLimitExec: take=6
                LakeScanExec: columns=[__file, __row], limit=6
              OrderedLimitExec: take=3
                LakeScanExec: columns=[__file, __row], limit=3
            ?_type=Patient,Observation&_sort=_lastUpdated&_count=4
              Sort: __key0 ASC NULLS LAST, Patient.id ASC NULLS LAST, fetch=5
                Projection: sort__lastUpdated(Patient.id) AS __key0, Patient.id, Patient.__file, Patient.__row
                  TableScan: Patient projection=[id, __file, __row]
              SortExec: TopK(fetch=5), expr=[__key0@0 ASC NULLS LAST, id@1 ASC NULLS LAST], preserve_partitioning=[false]
                ProjectionExec: expr=[sort__lastUpdated(id@0) as __key0, id@0 as id, __file@1 as __file, __row@2 as __row]
                  LakeScanExec: columns=[id, __file, __row], order=best first
              Sort: __key0 ASC NULLS LAST, Observation.id ASC NULLS LAST, fetch=5
                Projection: sort__lastUpdated(Observation.id) AS __key0, Observation.id, Observation.__file, Observation.__row
                  TableScan: Observation projection=[id, __file, __row]
              SortExec: TopK(fetch=5), expr=[__key0@0 ASC NULLS LAST, id@1 ASC NULLS LAST], preserve_partitioning=[false]
                ProjectionExec: expr=[sort__lastUpdated(id@0) as __key0, id@0 as id, __file@1 as __file, __row@2 as __row]
                  LakeScanExec: columns=[id, __file, __row], order=best first
            ?_type=Patient,Observation&_summary=count
              AggregateExec: mode=Single, gby=[], aggr=[count(*)]
                LakeScanExec: columns=[]
              AggregateExec: mode=Single, gby=[], aggr=[count(*)]
                LakeScanExec: columns=[]
        "#]],
    );
}

#[test]
fn totals_and_includes_stand_beside_the_page() {
    check(
        &[
            "Observation?code=1234-1&_count=2&_total=accurate",
            "Observation?code=1234-1&_count=2&_include=Observation:subject",
            "Patient?gender=female&_count=2&_revinclude=Observation:subject",
        ],
        &expect![[r#"
            Observation?code=1234-1&_count=2&_total=accurate
              OrderedLimitExec: take=3
                LakeScanExec: columns=[__file, __row], items=[code=1234-1], limit=3
              AggregateExec: mode=Single, gby=[], aggr=[count(*)]
                LakeScanExec: columns=[], items=[code=1234-1]
            Observation?code=1234-1&_count=2&_include=Observation:subject
              OrderedLimitExec: take=3
                LakeScanExec: columns=[__file, __row], items=[code=1234-1], limit=3
              Include: Observation:subject, round=1, of=2 Observation, found=1
                LookupExec: Patient by id, ids=1
            Patient?gender=female&_count=2&_revinclude=Observation:subject
              OrderedLimitExec: take=3
                LakeScanExec: columns=[__file, __row], items=[gender=female], limit=3
              Revinclude: Observation:subject, round=1, of=2 Patient, found=40
                OrderedLimitExec: take=1000001
                  LakeScanExec: columns=[__file, __row], items=[subject refers to 2 matches], limit=1000001
        "#]],
    );
}
