//! Clipping to some leaves changes neither rows nor values, whichever columns files have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::util::display::array_value_to_string;
use proptest::prelude::*;
use serde_json::{Value, json};
use tabularium::fhir::storage::LeafSet;
use tabularium::lake::{Lake, Locator, Person, ScanRequest, Snapshot};

use super::{collect, leaves};
use crate::harness::records::{Record, application, commit, lake, type_named};

/// The requested leaves as a tree.
#[derive(Default)]
struct Asked(BTreeMap<String, Asked>);

impl Asked {
    fn new(leaves: &LeafSet) -> Asked {
        let mut root = Asked::default();
        for leaf in leaves {
            let mut node = &mut root;
            for name in leaf.split('.') {
                node = node.0.entry(name.to_owned()).or_default();
            }
        }
        root
    }

    /// The value of a column for the requested leaves. If only a struct's presence is requested, an empty object.
    fn of(&self, array: &dyn Array, row: usize) -> Value {
        if array.is_null(row) {
            return Value::Null;
        }
        match array.data_type() {
            DataType::List(_) => {
                let items = array.as_list::<i32>().value(row);
                (0..items.len()).map(|at| self.of(&items, at)).collect()
            }
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let asked = columns.filter_map(|(field, column)| {
                    let value = self.0.get(field.name())?.of(column, row);
                    Some((field.name().clone(), value))
                });
                // A column without a value equals a missing one.
                Value::Object(asked.filter(|(_, value)| !value.is_null()).collect())
            }
            _ => Value::String(array_value_to_string(array, row).unwrap()),
        }
    }

    fn rows(&self, batch: &RecordBatch) -> BTreeMap<Locator, Value> {
        let places = Locator::of(batch);
        let row = |row: usize| {
            let columns = self.0.iter().filter_map(|(name, asked)| {
                let value = asked.of(batch.column_by_name(name)?, row);
                Some((name.clone(), value)).filter(|(_, value)| !value.is_null())
            });
            Value::Object(columns.collect())
        };
        places
            .into_iter()
            .enumerate()
            .map(|(at, place)| (place, row(at)))
            .collect()
    }
}

/// All paths of a schema, of structs and leaves.
fn paths(schema: &Schema) -> Vec<String> {
    fn walk(prefix: &str, field: &Field, paths: &mut Vec<String>) {
        let mut data_type = field.data_type();
        while let DataType::List(item) = data_type {
            data_type = item.data_type();
        }
        let path = format!("{prefix}{}", field.name());
        if let DataType::Struct(fields) = data_type {
            for field in fields {
                walk(&format!("{path}."), field, paths);
            }
        }
        paths.push(path);
    }
    let mut paths = Vec::new();
    for field in schema.fields() {
        walk("", field, &mut paths);
    }
    paths
}

/// Files with very different columns.
fn fixture() -> (tempfile::TempDir, Lake, Arc<Snapshot>) {
    let (dir, lake) = lake();
    let coding = |code: &str| json!({"coding": [{"system": "http://loinc.org", "code": code}]});
    let resource = |id: &str, rest: Value| {
        let mut json = json!({"resourceType": "Observation", "id": id});
        json.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        Record::new(json).of(&lake, "p")
    };
    commit(
        &lake,
        &[
            resource(
                "a1",
                json!({"status": "final", "code": coding("1"), "valueQuantity": {"value": 1.50, "unit": "mg"}}),
            ),
            resource(
                "a2",
                json!({"status": "final", "code": {"text": "two"}, "component": [
            {"code": coding("c1"), "valueQuantity": {"value": 7}}, {"code": coding("c2")}]}),
            ),
            resource(
                "a3",
                json!({"code": {"coding": [{"code": "x"}, {"display": "only shown"}, {"system": "s", "extension": [
            {"url": "http://e", "valueString": "e"}]}]}}),
            ),
        ],
    );
    commit(
        &lake,
        &[
            resource(
                "b1",
                json!({"code": {"text": "no coding anywhere in this file"}, "component": [{"valueString": "x"}]}),
            ),
            resource(
                "b2",
                json!({"component": [{"code": {"text": "t"}}, {"valueBoolean": true}], "effectiveDateTime": "2020-02"}),
            ),
        ],
    );
    commit(
        &lake,
        &[
            resource(
                "c1",
                json!({"referenceRange": [{"low": {"value": 1}, "text": "r"}, {"appliesTo": [coding("z"), coding("y")]}]}),
            ),
            resource(
                "c2",
                json!({"note": [{"text": "n1"}, {"text": "n2", "authorString": "me"}], "_status": {"extension": [
            {"url": "http://why", "valueCode": "masked"}]}}),
            ),
        ],
    );
    let snapshot = commit(
        &lake,
        &[resource("d1", json!({"status": "amended"})), resource("d2", json!({}))],
    );
    (dir, lake, snapshot)
}

fn read(lake: &Lake, snapshot: &Arc<Snapshot>, leaves: &LeafSet) -> (RecordBatch, RecordBatch) {
    let table = lake.table(snapshot, type_named("Observation"), &application("local"));
    let request = ScanRequest {
        leaves: leaves.clone(),
        ..ScanRequest::default()
    };
    let person = table
        .person_batch(Person::Owner(lake.owner_of("local", "p")), leaves)
        .unwrap();
    (collect(&table.provider(request)), person.batch)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_leaves_give_the_rows_and_values_of_all(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        strays in prop::collection::btree_set(prop::sample::select(vec![
            "code.coding.version", "component.code.coding.userSelected", "component.interpretation.text", "method.text",
            "referenceRange.high.value", "nothing", "note.authorReference.reference", "component.*", "*",
        ]), 0..3),
    ) {
        thread_local!(static FIXTURE: (tempfile::TempDir, Lake, Arc<Snapshot>) = fixture());
        FIXTURE.with(|(_, lake, snapshot)| {
            let table = lake.table(snapshot, type_named("Observation"), &application("local"));
            let layout = snapshot.table(tabularium::lake::Mode::Live, type_named("Observation")).unwrap().layout.schema().clone();
            let known = paths(&layout);
            let all: LeafSet = known.iter().cloned().collect();
            let mut wanted: LeafSet = picks.iter().map(|pick| pick.get(&known).clone()).collect();
            wanted.extend(strays.iter().map(|stray| (*stray).to_owned()));
            let (full, _) = read(lake, snapshot, &all);
            let (scanned, person) = read(lake, snapshot, &wanted);
            let asked = Asked::new(&wanted);
            prop_assert_eq!(full.num_rows(), 9);
            prop_assert_eq!(asked.rows(&scanned), asked.rows(&full));
            prop_assert_eq!(asked.rows(&person), asked.rows(&full));
            let clipped = table.schema(&wanted);
            let columns = scanned.schema();
            prop_assert_eq!(&columns.fields()[..clipped.fields().len()], &clipped.fields()[..]);
            Ok(())
        })?;
    }
}

#[test]
fn the_clipped_schema_has_what_was_asked_for_and_exists() {
    let (_dir, lake, snapshot) = fixture();
    let table = lake.table(&snapshot, type_named("Observation"), &application("local"));
    let clipped = |asked: &[&str]| -> BTreeSet<String> { paths(&table.schema(&leaves(asked))).into_iter().collect() };
    let set = |paths: &[&str]| -> BTreeSet<String> { paths.iter().map(|path| (*path).to_owned()).collect() };
    assert_eq!(
        clipped(&["code.coding.code"]),
        set(&["code", "code.coding", "code.coding.code"])
    );
    assert_eq!(clipped(&["nothing.at.all"]), set(&[]));
    // If no file has a leaf, the deepest existing element above it is read: a question about codes' versions must see
    // the codes.
    let deepest = clipped(&["component.code.coding.version"]);
    assert_eq!(deepest.len(), 4, "{deepest:?}");
    assert!(deepest.contains("component.code.coding"));
    assert_eq!(clipped(&["component"]).len(), 2);
    let layout = snapshot
        .table(tabularium::lake::Mode::Live, type_named("Observation"))
        .unwrap()
        .layout
        .schema()
        .clone();
    let below = |root: &str| -> BTreeSet<String> {
        paths(&layout)
            .into_iter()
            .filter(|path| path.starts_with(root))
            .collect()
    };
    assert_eq!(clipped(&["component.*"]), below("component"));
    assert_eq!(
        clipped(&["component.code.*", "component.valueString"]).len(),
        below("component.code").len() + 2
    );
    let elements = clipped(&["*"]);
    assert!(elements.contains("id") && elements.contains("code.coding.code") && !elements.contains("resource"));
    assert_eq!(
        clipped(&["valueQuantity.value__number", "id"]),
        set(&["id", "valueQuantity", "valueQuantity.value__number"])
    );
}

#[test]
fn an_absent_leaf_keeps_the_elements_it_would_lie_in() {
    let (_dir, lake, snapshot) = fixture();
    let (batch, _) = read(&lake, &snapshot, &leaves(&["component.code.coding.code", "id"]));
    let rows = Asked::new(&leaves(&["component.code.coding.code", "id"])).rows(&batch);
    let found: Vec<Value> = rows.into_values().collect();
    let of = |id: &str| found.iter().find(|row| row["id"] == id).unwrap().clone();
    assert_eq!(
        of("a2")["component"],
        json!([{"code": {"coding": [{"code": "c1"}]}}, {"code": {"coding": [{"code": "c2"}]}}])
    );
    // No row of this file has a coding, but one component has a code.
    assert_eq!(of("b2")["component"], json!([{"code": {}}, {}]));
    assert_eq!(of("b1")["component"], json!([{}]));
    assert_eq!(of("d2"), json!({"id": "d2"}));
}
