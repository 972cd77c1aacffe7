//! Conditions on dates beside other conditions. Statistics decide most of them, but not `ne`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::small::{Small, small};

const PREFIXES: [&str; 8] = ["eq", "gt", "lt", "ge", "le", "sa", "eb", "ap"];

fn condition(at: usize) -> Value {
    let (onset, recorded) = (at * 7 % 40, at * 11 % 36);
    json!({"resourceType": "Condition", "id": format!("c{at:03}"), "subject": {"reference": "Patient/p"},
        "onsetDateTime": format!("{}-{:02}-{:02}", 2012 + onset % 8, 1 + onset % 12, 1 + onset % 28),
        "recordedDate": format!("{}-{:02}", 2010 + recorded % 9, 1 + recorded % 12)})
}

fn encounter(at: usize) -> Value {
    let day = |at: usize| format!("{}-{:02}-{:02}", 2018 + at % 4, 1 + at % 12, 1 + at % 28);
    let mut period = json!({"start": day(at), "end": format!("{}T12:00:00Z", day(at))});
    match at % 5 {
        0 => drop(period.as_object_mut().unwrap().remove("end")),
        1 => drop(period.as_object_mut().unwrap().remove("start")),
        _ => {}
    }
    json!({"resourceType": "Encounter", "id": format!("e{at:03}"), "status": "finished", "class": {"code": "AMB"},
        "subject": {"reference": "Patient/p"}, "period": period})
}

fn found(world: &Small, query: &str) -> BTreeSet<String> {
    world.found(query).into_iter().collect()
}

/// Two conditions together match what each of them matches, in pages, totals, counts and sorts.
fn check(world: &Small, resource_type: &str, one: &str, other: &str, sort: &str) {
    let ask = |conditions: &str| found(world, &format!("{resource_type}?{conditions}&_count=500"));
    let expected: BTreeSet<String> = ask(one).intersection(&ask(other)).cloned().collect();
    for query in [
        format!("{one}&{other}"),
        format!("{other}&{one}"),
        format!("{one}&{other}&_sort={sort}"),
    ] {
        assert_eq!(ask(&query), expected, "{query}");
        let page = world
            .page(&format!("{resource_type}?{query}&_count=3&_total=accurate"))
            .unwrap();
        assert_eq!(page["total"], expected.len(), "{query}");
        let count = world.page(&format!("{resource_type}?{query}&_summary=count")).unwrap();
        assert_eq!(count["total"], expected.len(), "{query}");
    }
}

/// `ne` has no form for statistics. It used to count as decided beside a date that they decide.
#[test]
fn a_date_with_ne_holds_beside_another_date() {
    let mut resources: Vec<Value> = (0..300).map(condition).collect();
    resources.extend((0..300).map(encounter));
    let world = small(&resources);
    let excluded = found(&world, "Condition?onset-date=2017-02&_count=500");
    assert!(!excluded.is_empty());
    for prefix in PREFIXES {
        for (onset, recorded) in [
            ("ne2017-02", "2011-07-03"),
            ("ne2015", "2014"),
            ("ne2016-01-05", "2012-02"),
        ] {
            let recorded = format!("recorded-date={prefix}{recorded}");
            check(
                &world,
                "Condition",
                &format!("onset-date={onset}"),
                &recorded,
                "recorded-date",
            );
        }
        for (unequal, date) in [
            ("ne2020-01-01", "2019"),
            ("ne2019", "2019-06-15"),
            ("ne2020-05", "2020"),
        ] {
            let date = format!("date={prefix}{date}");
            check(&world, "Encounter", &format!("date={unequal}"), &date, "-date");
        }
    }
    let both = found(&world, "Condition?onset-date=ne2017-02&recorded-date=ge2010&_count=500");
    assert!(both.is_disjoint(&excluded) && both.len() + excluded.len() == 300);
}
