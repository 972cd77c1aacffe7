//! Everything a lake holds, read from its Parquet files by the Parquet library alone: no scan, no scope.

use std::collections::BTreeMap;
use std::fs::File;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tabularium::fhir::facts;
use tabularium::lake::{Lake, Mode, deletes};

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

/// All rows of the newest snapshot. A row that stands twice fails the test.
pub(crate) fn stored(lake: &Lake) -> BTreeMap<Identity, Stored> {
    let mut rows = BTreeMap::new();
    for ((mode, ty), table) in &lake.picture().tables {
        let mut count = 0;
        for file in &table.files {
            let deleted = file
                .deletes
                .as_ref()
                .map_or_else(Vec::new, |deletes| deletes::read(&deletes.path).unwrap());
            let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file.path).unwrap()).unwrap();
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
                    let identity = (*mode, text("application", row).unwrap(), facts().get(*ty).name, id);
                    assert!(
                        rows.insert(identity.clone(), stored).is_none(),
                        "{identity:?} stands twice"
                    );
                    count += 1;
                }
            }
        }
        assert_eq!(count, table.rows, "rows of {}", facts().get(*ty).name);
    }
    rows
}
