//! Files rewritten by another program, with other encodings and without indexes, show the same rows to the same scopes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::ColumnPath;
use serde_json::json;
use tabularium::lake::scan::Row;
use tabularium::lake::{Lake, Person, Scope};

use super::{ids, person_ids};
use crate::harness::records::{Record, application, commit, lake, patient, type_named};

/// A way to write a file.
type Kind = fn(WriterPropertiesBuilder) -> WriterPropertiesBuilder;

/// Rows of three people and without a person, some of an authorization, of two applications.
fn records(lake: &Lake) -> Vec<Record> {
    let mut records = Vec::new();
    for at in 0..600 {
        let person = ["ann", "bob", "eve"][at % 3];
        let json = json!({
            "resourceType": "Observation", "id": format!("o{at:03}"), "status": "final", "code": {"text": "x"},
            "subject": {"reference": format!("Patient/{person}")},
        });
        let record = Record {
            authorization: (at % 7 == 0).then(|| format!("granted-{}", at % 2)),
            version: 1 + (at / 50) as i64,
            ..Record::new(json)
        };
        let record = if at % 11 == 0 {
            record.application("other")
        } else {
            record
        };
        records.push(record.of(lake, person));
    }
    let practitioner = |id: &str| Record::new(json!({"resourceType": "Practitioner", "id": id}));
    records.push(practitioner("met"));
    records.push(practitioner("unmet"));
    let last = records.iter_mut().find(|record| record.application == "local");
    last.unwrap().refs = vec!["Practitioner/met".to_owned()];
    records
}

fn scopes(lake: &Lake) -> Vec<Arc<Scope>> {
    let ann = patient(lake, "local", "ann");
    let mut granted = ann.as_ref().clone();
    let mut person = granted.patient.unwrap().as_ref().clone();
    person.authorizations = vec!["granted-1".to_owned()];
    granted.patient = Some(person.into());
    vec![
        application("local"),
        application("other"),
        ann,
        patient(lake, "local", "bob"),
        patient(lake, "other", "eve"),
        granted.into(),
    ]
}

/// The rows that each scope sees, with versions.
fn shown(lake: &Lake) -> Vec<Vec<Row>> {
    let mut shown = Vec::new();
    for scope in scopes(lake) {
        for name in ["Observation", "Practitioner"] {
            let table = lake.table(&lake.snapshot(), type_named(name), &scope);
            let all = ids(&table);
            if scope.patient.is_some() {
                let mut own = person_ids(&table, Person::OfScope);
                own.sort();
                assert_eq!(own, all);
            }
            shown.push(all.iter().map(|id| table.read(id).unwrap().unwrap()).collect());
        }
    }
    shown
}

/// The Parquet files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|name| name == "parquet") {
            found.push(path);
        }
    }
    found
}

/// Rewrites a file's rows in place.
fn rewrite(path: &Path, properties: WriterProperties) {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let schema = builder.schema().clone();
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    std::fs::remove_file(path).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

#[test]
fn other_encodings_show_the_same_rows() {
    let (dir, lake) = lake();
    commit(&lake, &records(&lake));
    let expected = shown(&lake);
    // Observations and Practitioners of each scope. Every third row is Ann's, every eleventh the other application's,
    // and every seventh an authorization's. The first row of the application is Bob's, who has an Encounter.
    let counts: Vec<usize> = expected.iter().map(Vec::len).collect();
    assert_eq!(counts, [545, 2, 55, 0, 155, 0, 155, 1, 15, 0, 168, 0]);
    drop(lake);
    let kinds: [(&str, Kind); 5] = [
        ("without dictionaries", |kind| kind.set_dictionary_enabled(false)),
        ("dictionaries that end early", |kind| {
            kind.set_dictionary_page_size_limit(40).set_write_batch_size(16)
        }),
        ("without indexes and statistics", |kind| {
            kind.set_offset_index_disabled(true)
                .set_statistics_enabled(EnabledStatistics::None)
        }),
        ("pages of the second version, differences of numbers", |kind| {
            kind.set_writer_version(WriterVersion::PARQUET_2_0)
                .set_column_dictionary_enabled(ColumnPath::from("owner"), false)
                .set_column_encoding(ColumnPath::from("owner"), Encoding::DELTA_BINARY_PACKED)
        }),
        ("small compressed pages and row groups", |kind| {
            kind.set_data_page_row_count_limit(10)
                .set_write_batch_size(10)
                .set_max_row_group_row_count(Some(64))
                .set_compression(Compression::LZ4_RAW)
        }),
    ];
    for (what, kind) in kinds {
        for path in files(dir.path()) {
            rewrite(&path, kind(WriterProperties::builder()).build());
        }
        assert!(shown(&Lake::open(dir.path()).unwrap()) == expected, "{what}");
    }
}
