//! The contents of a lake, read from its Parquet files with the Parquet library alone, without scan or scope.

use std::collections::{BTreeMap, HashSet};

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::ProjectionMask;
use tabularium::fhir::facts;
use tabularium::lake::{Lake, Mode};

use super::super::kind;

/// A live row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) owner: i64,
    pub(crate) patient: Option<String>,
    pub(crate) version: i64,
    pub(crate) last_updated: i64,
    pub(crate) shared_refs: Vec<String>,
    pub(crate) resource: String,
}

/// Mode, application, type, id.
pub(crate) type Identity = (Mode, String, &'static str, String);

/// Owner, `Type/id` and version of all rows of the newest snapshot. A duplicate row fails the test.
pub(crate) fn versions(lake: &Lake) -> BTreeMap<i64, BTreeMap<String, i64>> {
    let mut owners: BTreeMap<i64, BTreeMap<String, i64>> = BTreeMap::new();
    for ((_, type_id), table) in &lake.snapshot().tables {
        let name = facts().get(*type_id).name;
        for file in &table.files {
            let deleted: HashSet<u64> = match &file.deletes {
                Some(deletes) => kind::deleted(&deletes.path).into_iter().collect(),
                None => HashSet::new(),
            };
            let reader = kind::parquet(&file.path);
            let only = ProjectionMask::columns(reader.parquet_schema(), ["owner", "id", "version"]);
            let mut position = 0;
            for batch in reader.with_projection(only).build().unwrap() {
                let batch = batch.unwrap();
                let number = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
                let (owner, version) = (number("owner"), number("version"));
                let id = batch.column_by_name("id").unwrap().as_string::<i32>();
                for row in 0..batch.num_rows() {
                    position += 1;
                    if deleted.contains(&(position - 1)) {
                        continue;
                    }
                    let name = format!("{name}/{}", id.value(row));
                    let rows = owners.entry(owner.value(row)).or_default();
                    let before = rows.insert(name, version.value(row));
                    assert!(before.is_none(), "a row of {} stands twice", facts().get(*type_id).name);
                }
            }
        }
    }
    owners
}

/// All rows of the newest snapshot. A duplicate row fails the test.
pub(crate) fn stored(lake: &Lake) -> BTreeMap<Identity, Stored> {
    let mut rows = BTreeMap::new();
    for ((mode, type_id), table) in &lake.snapshot().tables {
        let mut count = 0;
        for file in &table.files {
            let deleted: HashSet<u64> = match &file.deletes {
                Some(deletes) => kind::deleted(&deletes.path).into_iter().collect(),
                None => HashSet::new(),
            };
            let reader = kind::parquet(&file.path);
            let mut position = 0;
            let mut before: Option<(i64, String)> = None;
            for batch in reader.build().unwrap() {
                let batch = batch.unwrap();
                let text = |name: &str, row: usize| {
                    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
                    column.is_valid(row).then(|| column.value(row).to_owned())
                };
                let number = |name: &str, row: usize| {
                    batch
                        .column_by_name(name)
                        .unwrap()
                        .as_primitive::<Int64Type>()
                        .value(row)
                };
                for row in 0..batch.num_rows() {
                    position += 1;
                    let (owner, id) = (number("owner", row), text("id", row).unwrap());
                    assert!(
                        before.as_ref().is_none_or(|before| *before <= (owner, id.clone())),
                        "not sorted"
                    );
                    before = Some((owner, id.clone()));
                    if deleted.contains(&(position - 1)) {
                        continue;
                    }
                    let updated = batch.column_by_name("last_updated").unwrap();
                    let refs = batch.column_by_name("shared_refs").unwrap().as_list::<i32>();
                    let refs = refs.is_valid(row).then(|| refs.value(row));
                    let refs = refs
                        .as_ref()
                        .map_or(Vec::new(), |refs| refs.as_string::<i32>().iter().flatten().collect());
                    let stored = Stored {
                        owner,
                        patient: text("patient", row),
                        version: number("version", row),
                        last_updated: updated.as_primitive::<TimestampMicrosecondType>().value(row),
                        shared_refs: refs.into_iter().map(str::to_owned).collect(),
                        resource: text("resource", row).unwrap(),
                    };
                    let identity = (*mode, text("application", row).unwrap(), facts().get(*type_id).name, id);
                    assert!(
                        rows.insert(identity.clone(), stored).is_none(),
                        "{identity:?} stands twice"
                    );
                    count += 1;
                }
            }
        }
        assert_eq!(count, table.rows, "rows of {}", facts().get(*type_id).name);
    }
    rows
}

/// All columns of an authorization's live rows, decoded to text.
pub(crate) fn decoded(lake: &Lake, authorization: &str) -> Vec<String> {
    let mut rows = Vec::new();
    for table in lake.snapshot().tables.values() {
        for file in &table.files {
            let deleted: HashSet<usize> = match &file.deletes {
                Some(deletes) => {
                    let read = kind::deleted(&deletes.path);
                    read.into_iter().map(|row| row as usize).collect()
                }
                None => HashSet::new(),
            };
            let of_file = decoded_file(&file.path).into_iter().enumerate();
            let live = of_file.filter(|(at, _)| !deleted.contains(at));
            let own = live.filter(|(_, row)| row.contains(&format!("\nauthorization={authorization}\n")));
            rows.extend(own.map(|(_, row)| row));
        }
    }
    rows
}

/// All rows of a file, including deleted ones, with their columns decoded to text.
pub(crate) fn decoded_file(path: &std::path::Path) -> Vec<String> {
    let reader = kind::parquet(path);
    let mut rows = Vec::new();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        let options = FormatOptions::default();
        let columns: Vec<ArrayFormatter<'_>> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let mut text = String::from("\n");
            for (field, column) in batch.schema().fields().iter().zip(&columns) {
                text += &format!("{}={}\n", field.name(), column.value(row));
            }
            rows.push(text);
        }
    }
    rows
}
