//! Plans whose scans have several partitions: counts are added, sorted partitions are merged, and every partition
//! collects ids of its own. A scan is split from 32,768 rows on, and other tests store fewer.

use std::collections::BTreeSet;

use datafusion::physical_plan::displayable;
use expect_test::expect;
use serde_json::{Value, json};
use tabularium::parallel::processors;

use super::super::corpus::link;
use super::super::small::{BASE, Small, small};
use crate::harness::plans::Traveling;

const ROWS: usize = 40_000;
const ENCOUNTERS: usize = 50;

/// An Observation: its id, code, date and Encounter.
struct Observation {
    id: String,
    code: String,
    date: String,
    encounter: usize,
}

fn observations() -> Vec<Observation> {
    let observation = |at: usize| {
        let mixed = at.wrapping_mul(2_654_435_761) % 9_973;
        Observation {
            id: format!("o{at:05}"),
            code: if at % 999 == 17 {
                "rare".to_owned()
            } else {
                format!("c{}", mixed % 7)
            },
            date: format!("{}-{:02}-{:02}", 1990 + mixed % 30, 1 + mixed % 12, 1 + mixed % 28),
            encounter: at % ENCOUNTERS,
        }
    };
    (0..ROWS).map(observation).collect()
}

fn class(encounter: usize) -> &'static str {
    ["AMB", "IMP", "EMER"][encounter % 3]
}

fn records(observations: &[Observation]) -> Small {
    let stored = |one: &Observation| {
        json!({"resourceType": "Observation", "id": one.id, "effectiveDateTime": one.date,
            "code": {"coding": [{"code": one.code}]},
            "encounter": {"reference": format!("Encounter/e{}", one.encounter)}})
    };
    let encounter =
        |at: usize| json!({"resourceType": "Encounter", "id": format!("e{at}"), "class": {"code": class(at)}});
    let all: Vec<Value> = observations
        .iter()
        .map(stored)
        .chain((0..ENCOUNTERS).map(encounter))
        .collect();
    small(&all)
}

#[test]
fn several_partitions_find_what_a_plain_reading_finds() {
    if processors() < 2 {
        println!("1 test skipped: with one processor a scan has one partition");
        return;
    }
    let all = observations();
    let records = records(&all);
    let total = |query: &str| records.page(query).unwrap()["total"].as_u64().unwrap() as usize;
    let count = |keeps: &dyn Fn(&Observation) -> bool| all.iter().filter(|one| keeps(one)).count();

    assert_eq!(
        total("Observation?code=c3&_summary=count"),
        count(&|one| one.code == "c3")
    );
    assert_eq!(
        total("Observation?encounter.class=AMB&code=c1&_summary=count"),
        count(&|one| one.code == "c1" && class(one.encounter) == "AMB")
    );

    // Pages by the newest date, and by the code and then the oldest date.
    let mut newest: Vec<&Observation> = all.iter().filter(|one| one.code == "c3").collect();
    newest.sort_by(|one, other| other.date.cmp(&one.date).then_with(|| one.id.cmp(&other.id)));
    let mut by_code: Vec<&Observation> = all.iter().collect();
    by_code.sort_by_key(|one| (&one.code, &one.date, &one.id));
    for (query, expected) in [
        ("Observation?code=c3&_sort=-date&_count=20", &newest),
        ("Observation?_sort=code,date&_count=20", &by_code),
    ] {
        let first = records.page(query).unwrap();
        let next = link(&first, "next").unwrap();
        let second = records.page(next.strip_prefix(BASE).unwrap()).unwrap();
        let found: Vec<String> = [first, second].iter().flat_map(ids).collect();
        let expected: Vec<&str> = expected.iter().take(40).map(|one| one.id.as_str()).collect();
        assert_eq!(found, expected, "{query}");
    }

    // A page far into the table's order.
    let page = records.page("Observation?code=c3&_count=10&_offset=4000").unwrap();
    let expected = all.iter().filter(|one| one.code == "c3").skip(4_000).take(10);
    assert_eq!(ids(&page), expected.map(|one| one.id.clone()).collect::<Vec<_>>());

    let rare = all.iter().filter(|one| one.code == "rare");
    let expected: BTreeSet<String> = rare.map(|one| format!("e{}", one.encounter)).collect();
    let page = records.page("Encounter?_has:Observation:encounter:code=rare&_count=100");
    let found: BTreeSet<String> = ids(&page.unwrap()).into_iter().collect();
    assert_eq!(found, expected);

    let mut traveling = Traveling::new(&records.lake);
    let mut shown = Vec::new();
    for query in [
        "Observation?code=c3&_sort=-date&_count=20",
        "Observation?encounter.class=AMB&code=c1&_sort=date&_count=5&_offset=3",
        "Encounter?_has:Observation:encounter:code=rare&_count=100",
    ] {
        for plan in records.plans(query) {
            shown.push(displayable(plan.as_ref()).indent(false).to_string());
            traveling.add(query, &plan).unwrap();
        }
    }
    assert_eq!(traveling.arrive(), 6);
    let expected = expect![[r#"
        SortPreservingMergeExec: [sort_date(effectiveDateTime__start@1, effectiveDateTime__end@2) DESC NULLS LAST, id@0 ASC NULLS LAST], fetch=21
          SortExec: TopK(fetch=21), expr=[sort_date(effectiveDateTime__start@1, effectiveDateTime__end@2) DESC NULLS LAST, id@0 ASC NULLS LAST], preserve_partitioning=[true]
            LakeScanExec: columns=[id, effectiveDateTime__start, effectiveDateTime__end, __file, __row], items=[code=c3], order=best first, among the first 21 by sort_date
        AggregateExec: mode=Final, gby=[], aggr=[count(*)]
          CoalescePartitionsExec
            AggregateExec: mode=Partial, gby=[], aggr=[count(*)]
              LakeScanExec: columns=[], items=[code=c3]
    "#]];
    expected.assert_eq(&shown[..2].concat());
}

fn ids(page: &Value) -> Vec<String> {
    let entries = page["entry"].as_array().into_iter().flatten();
    entries
        .map(|entry| entry["resource"]["id"].as_str().unwrap().to_owned())
        .collect()
}
