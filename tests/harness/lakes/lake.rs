//! Small lakes for tests: Patient rows given as JSON, which are shredded, written and committed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use parquet::arrow::ProjectionMask;
use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::file::{stored_digest, write_file};
use tabularium::lake::{Lake, LakeOptions, Mode, Snapshot, TableSnapshot, Transaction, WrittenFile};

use super::super::kind;

/// A new lake with its own clock.
pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) lake: Lake,
}

/// A new empty lake.
pub(crate) fn fixture() -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(1_700_000_000_000_000));
    let options = LakeOptions {
        clock: clock.clone(),
        ..kind::options()
    };
    let lake = Lake::create_with(dir.path(), options).unwrap();
    Fixture { dir, clock, lake }
}

impl Fixture {
    /// Commits these rows as one file.
    pub(crate) fn commit(&self, rows: &[Row]) -> Arc<Snapshot> {
        let mut writer = self.lake.writer().unwrap();
        let mut transaction = writer.begin();
        add(&mut transaction, rows);
        transaction.commit("test", "").unwrap()
    }
}

/// A Patient row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) owner: i64,
    pub(crate) id: String,
    pub(crate) version: i64,
    pub(crate) resource: String,
}

/// A row of its owner's Patient. Its id sorts like the owner.
pub(crate) fn row(owner: i64) -> Row {
    with(owner, r#""name":[{"family":"Smith"}]"#)
}

/// The same with these elements.
pub(crate) fn with(owner: i64, elements: &str) -> Row {
    let id = format!("p{owner:06}");
    let resource = format!(r#"{{"resourceType":"Patient","id":"{id}",{elements}}}"#);
    Row {
        owner,
        id,
        version: 1,
        resource,
    }
}

/// The type of the rows' table.
pub(crate) fn patient() -> TypeId {
    facts().lookup("Patient").unwrap()
}

/// The table of live Patients.
pub(crate) fn table(snapshot: &Snapshot) -> &TableSnapshot {
    snapshot.table(Mode::Live, patient()).unwrap()
}

/// Writes a file of these rows, in their order, and adds it to the table of live Patients.
pub(crate) fn add(transaction: &mut Transaction<'_>, rows: &[Row]) -> WrittenFile {
    let written = write(transaction, rows);
    transaction.add_file(Mode::Live, patient(), written.clone());
    written
}

/// Writes a file of these rows without adding it.
pub(crate) fn write(transaction: &mut Transaction<'_>, rows: &[Row]) -> WrittenFile {
    let mut shredder = Shredder::new(patient());
    let mut tape = Tape::new();
    for row in rows {
        let system = SystemValues {
            owner: row.owner,
            id: &row.id,
            patient: Some(&row.id),
            application: "local",
            authorization: None,
            endpoint: None,
            version: row.version,
            last_updated: transaction.time(),
            digest: stored_digest(row.resource.as_bytes(), &mut Tape::new()),
            shared_refs: &[],
            resource: &row.resource,
        };
        shredder
            .push(&system, tape.parse(row.resource.as_bytes()).unwrap())
            .unwrap();
    }
    let batch = shredder.finish().unwrap();
    let schema = transaction.adopt(Mode::Live, patient(), batch.schema_ref()).unwrap();
    let path = transaction.new_file_path(Mode::Live, patient()).unwrap();
    write_file(&path, patient(), &schema, [&batch], transaction.keys()).unwrap()
}

/// The live rows of a table, file by file in the table's order. The reader is independent of the scan.
pub(crate) fn rows(table: &TableSnapshot) -> Vec<Vec<Row>> {
    table
        .files
        .iter()
        .map(|file| {
            let gone = file
                .deletes
                .as_ref()
                .map_or_else(Vec::new, |file| kind::deleted(&file.path));
            let rows = file_rows(&file.path).into_iter().enumerate();
            rows.filter(|(at, _)| !gone.contains(&(*at as u64)))
                .map(|(_, row)| row)
                .collect()
        })
        .collect()
}

/// The texts of all live resources of all tables.
pub(crate) fn resources(snapshot: &Snapshot) -> Vec<String> {
    let mut found = Vec::new();
    for file in snapshot.tables.values().flat_map(|table| &table.files) {
        let gone = file
            .deletes
            .as_ref()
            .map_or_else(Vec::new, |file| kind::deleted(&file.path));
        let reader = kind::parquet(&file.path);
        let only = ProjectionMask::columns(reader.parquet_schema(), ["resource"]);
        let batches = reader.with_projection(only).build().unwrap().map(Result::unwrap);
        let texts = batches.flat_map(|batch| {
            let texts = batch.column(0).as_string::<i32>();
            texts.iter().map(|text| text.unwrap().to_owned()).collect::<Vec<_>>()
        });
        found.extend(
            texts
                .enumerate()
                .filter(|(at, _)| !gone.contains(&(*at as u64)))
                .map(|(_, text)| text),
        );
    }
    found
}

/// All files in a folder and the folders below it.
pub(crate) fn files_below(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let Ok(entries) = std::fs::read_dir(dir) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.insert(path);
        }
    }
    found
}

/// All files of a data folder except those that were moved aside as orphans.
pub(crate) fn files_in_place(data: &Path) -> BTreeSet<PathBuf> {
    let aside = data.join(".orphans");
    let mut files = files_below(data);
    files.retain(|path| !path.starts_with(&aside));
    files
}

fn file_rows(path: &Path) -> Vec<Row> {
    let reader = kind::parquet(path).build().unwrap();
    reader.flat_map(|batch| batch_rows(&batch.unwrap())).collect()
}

fn batch_rows(batch: &RecordBatch) -> Vec<Row> {
    let number = |name: &str, at| {
        batch
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Int64Type>()
            .value(at)
    };
    let text = |name: &str, at| {
        batch
            .column_by_name(name)
            .unwrap()
            .as_string::<i32>()
            .value(at)
            .to_owned()
    };
    (0..batch.num_rows())
        .map(|at| Row {
            owner: number("owner", at),
            id: text("id", at),
            version: number("version", at),
            resource: text("resource", at),
        })
        .collect()
}
