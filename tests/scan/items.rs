//! The scan decides conditions on items by dictionary codes. The result equals that of the rows' JSON.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tabularium::columns::conditions::{ItemMatch, LeafTest};
use tabularium::lake::{Lake, ScanRequest, Snapshot};

use super::asked::{Asked, scanned};
use super::{leaves, texts};
use crate::harness::records::{Record, application, commit, lake, type_named};

const TEXTS: [&str; 4] = ["a", "b", "http://loinc.org", "none has this"];

fn text(n: usize) -> Option<&'static str> {
    TEXTS[..3].get(n % 4).copied()
}

/// An object of the fields with a text; `None` if no field has one.
fn object(fields: &[(&str, Option<&str>)]) -> Option<Value> {
    let fields: Map<String, Value> = fields
        .iter()
        .filter_map(|(name, text)| Some(((*name).to_owned(), json!((*text)?))))
        .collect();
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn concept(n: usize) -> Value {
    let coding = |n: usize| object(&[("system", text(n)), ("code", text(n / 4)), ("display", text(n / 16))]);
    let codings: Vec<Value> = (0..n % 4).filter_map(|at| coding(n / 4 + 37 * at)).collect();
    if codings.is_empty() {
        json!({"text": "no coding"})
    } else {
        json!({"coding": codings})
    }
}

/// Two files. The second one lacks `status` and all systems of components.
fn fixture() -> (tempfile::TempDir, Lake, Arc<Snapshot>, Vec<Value>) {
    let (dir, lake) = lake();
    let mut rows = Vec::new();
    for file in 0..2 {
        let records: Vec<Record> = (0..1500)
            .map(|n| {
                let mut json =
                    json!({"resourceType": "Observation", "id": format!("{file}-{n}"), "code": concept(n * 7)});
                if file == 0 && n % 3 > 0 {
                    json["status"] = json!(["final", "amended"][n % 2]);
                }
                let mut components: Vec<Value> = (0..n % 3).map(|at| json!({"code": concept(n * 5 + at)})).collect();
                if file == 1 {
                    for coding in components
                        .iter_mut()
                        .filter_map(|one| one["code"]["coding"].as_array_mut())
                        .flatten()
                    {
                        coding.as_object_mut().unwrap().remove("system");
                    }
                }
                if !components.is_empty() {
                    json["component"] = components.into();
                }
                rows.push(json.clone());
                Record::new(json).of(&lake, &format!("p{}", n % 6))
            })
            .collect();
        commit(&lake, &records);
    }
    let snapshot = lake.snapshot();
    (dir, lake, snapshot, rows)
}

/// The objects at a path, with lists flattened. Empty objects, which the writer drops, are left out.
fn objects<'j>(json: &'j Value, path: &[&str]) -> Vec<&'j Value> {
    match (json, path) {
        (Value::Array(items), _) => items.iter().flat_map(|item| objects(item, path)).collect(),
        (Value::Object(fields), _) if fields.is_empty() => Vec::new(),
        (_, []) => vec![json],
        (_, [name, rest @ ..]) => json.get(name).map(|inner| objects(inner, rest)).unwrap_or_default(),
    }
}

fn brute(rows: &[Value], condition: &ItemMatch) -> BTreeSet<String> {
    let split: Vec<Vec<&str>> = condition.leaves.iter().map(|leaf| leaf.split('.').collect()).collect();
    let parent = &split[0][..split[0].len() - 1];
    let fits = |item: &Value, leaf_tests: &Vec<LeafTest>| {
        leaf_tests.iter().zip(&split).all(|(leaf_test, path)| {
            let value = item.get(path[path.len() - 1]).and_then(Value::as_str);
            match leaf_test {
                LeafTest::Any => true,
                LeafTest::Absent => value.is_none(),
                LeafTest::Is(text) => value == Some(text),
                LeafTest::In(texts) => value.is_some_and(|value| texts.contains(value)),
                LeafTest::Like(text) => value.is_some_and(|value| value.eq_ignore_ascii_case(text)),
            }
        })
    };
    let matches = |row: &&Value| {
        objects(row, parent)
            .into_iter()
            .any(|item| condition.any_of.iter().any(|leaf_tests| fits(item, leaf_tests)))
    };
    rows.iter()
        .filter(matches)
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

fn leaf_test() -> impl Strategy<Value = LeafTest> {
    prop_oneof![
        Just(LeafTest::Any),
        Just(LeafTest::Absent),
        (0..TEXTS.len()).prop_map(|n| LeafTest::Is(TEXTS[n].into())),
        prop::collection::vec(prop::sample::select(TEXTS.to_vec()), 0..3)
            .prop_map(|texts| LeafTest::In(Arc::new(texts.iter().collect()))),
        (0..TEXTS.len()).prop_map(|n| LeafTest::Like(TEXTS[n].to_uppercase().into())),
    ]
}

fn condition() -> impl Strategy<Value = ItemMatch> {
    let status =
        prop::collection::vec(prop::sample::select(vec!["final", "amended", "none"]), 1..3).prop_map(|texts| {
            ItemMatch {
                leaves: vec!["status".into()],
                any_of: texts.into_iter().map(|text| vec![LeafTest::Is(text.into())]).collect(),
                label: "test".into(),
            }
        });
    let coding = (
        prop::bool::ANY,
        prop::collection::vec((0..TEXTS.len(), leaf_test(), leaf_test()), 1..4),
    )
        .prop_map(|(inner, leaf_tests)| {
            let path = if inner { "component.code.coding" } else { "code.coding" };
            ItemMatch {
                leaves: ["code", "system", "version"]
                    .map(|leaf| format!("{path}.{leaf}").into())
                    .to_vec(),
                any_of: leaf_tests
                    .into_iter()
                    .map(|(n, system, version)| vec![LeafTest::Like(TEXTS[n].to_uppercase().into()), system, version])
                    .collect(),
                label: "test".into(),
            }
        });
    let many = Just(ItemMatch {
        leaves: vec!["code.coding.code".into()],
        any_of: (0..100)
            .map(|n| vec![LeafTest::Is(if n == 99 { "b".into() } else { n.to_string().into() })])
            .collect(),
        label: "test".into(),
    });
    prop_oneof![2 => status, 6 => coding, 1 => many]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn codes_columns_and_json_agree(condition in condition(), person in 0usize..6) {
        thread_local!(static FIXTURE: (tempfile::TempDir, Lake, Arc<Snapshot>, Vec<Value>) = fixture());
        FIXTURE.with(|(_, lake, snapshot, rows)| {
            let table = lake.table(snapshot, type_named("Observation"), &application("local"));
            let ids = |owners: Option<Vec<i64>>| -> BTreeSet<String> {
                let request = ScanRequest { leaves: leaves(&["id"]), owners, ..ScanRequest::default() };
                let (found, _) = scanned(&table, request, &[Asked::of_items(&condition)]);
                texts(&found, "id").into_iter().collect()
            };
            let expected = brute(rows, &condition);
            prop_assert_eq!(&ids(None), &expected);
            // One person has so few rows that columns decide the condition.
            let of_person = |id: &&String| id[2..].parse::<usize>().unwrap() % 6 == person;
            let owner = lake.owner_of("local", &format!("p{person}"));
            prop_assert_eq!(ids(Some(vec![owner])), expected.iter().filter(of_person).cloned().collect::<BTreeSet<_>>());
            Ok(())
        })?;
    }
}

#[test]
fn a_count_by_code_reads_the_codes_alone() {
    let (_dir, lake, snapshot, rows) = fixture();
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let condition = ItemMatch {
        leaves: vec!["code.coding.system".into(), "code.coding.code".into()],
        any_of: vec![vec![LeafTest::Is("http://loinc.org".into()), LeafTest::Is("a".into())]],
        label: "code".into(),
    };
    let (found, report) = scanned(&table, ScanRequest::default(), &[Asked::of_items(&condition)]);
    let found = found.num_rows();
    assert_eq!(found, brute(&rows, &condition).len());
    assert!(found > 0);
    assert_eq!(
        (report.rows_out, report.rows_filtered),
        (found as u64, (3000 - found) as u64)
    );
    assert_eq!(
        report.bytes_by_leaf.keys().collect::<Vec<_>>(),
        ["code.coding.code", "code.coding.system"]
    );
}
