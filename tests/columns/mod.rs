//! Invariant 3: a row's columns and its resource text have the same content.
//!
//! `from_columns` reads the columns; it knows Arrow and not the shredder. `from_text` reads the text; it knows R4's
//! facts and another JSON parser. Both give plain JSON, which must be equal.

mod clipped;
mod from_columns;
mod from_text;
mod generate;
mod worked_example;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tabularium::columns::json::Tape;
use tabularium::columns::layout::{Layout, field_id, union_schema};
use tabularium::columns::shred::{ShredError, Shredder, SystemValues};
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::Keys;
use tabularium::lake::file::{adapt, write_file};

fn push(shredder: &mut Shredder, tape: &mut Tape, text: &str) -> Result<(), ShredError> {
    let root = tape.parse(text.as_bytes()).unwrap();
    // All rows of a lake have an id; import adds missing ones.
    let id = root.get_str("id").unwrap_or_else(|| "given".into()).into_owned();
    let system = SystemValues {
        owner: 0,
        id: &id,
        patient: None,
        application: "local",
        authorization: None,
        endpoint: None,
        version: 1,
        last_updated: 0,
        digest: [0; 16],
        shared_refs: &[],
        resource: text,
    };
    shredder.push(&system, root)
}

/// Compares all rows of a batch with their texts.
fn check(type_id: TypeId, batch: &RecordBatch, texts: &[impl AsRef<str>]) {
    assert_eq!(batch.num_rows(), texts.len());
    for (row, text) in texts.iter().enumerate() {
        let (ours, theirs) = (
            from_columns::row(batch, row),
            from_text::resource(type_id, text.as_ref()),
        );
        assert_eq!(ours, theirs, "{}", text.as_ref());
    }
    from_columns::check_companions(batch);
}

/// Writes batches as one file, reads it back, and compares.
fn through_parquet(type_id: TypeId, layout: &mut Layout, batches: &[RecordBatch], dir: &Path) -> RecordBatch {
    let union = union_schema(type_id, batches.iter().map(|batch| batch.schema_ref().as_ref())).unwrap();
    let schema = layout.adopt(&union).unwrap().schema;
    let path = dir.join(format!("{}.parquet", facts().get(type_id).name));
    let written = write_file(&path, type_id, &schema, batches, &Keys::none()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&path).unwrap()).unwrap();
    let read: Vec<RecordBatch> = reader
        .with_batch_size(10_000)
        .build()
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let read = concat_batches(read[0].schema_ref(), &read).unwrap();
    let adapted: Vec<RecordBatch> = batches.iter().map(|batch| adapt(batch, &schema).unwrap()).collect();
    assert_eq!(
        read,
        concat_batches(&schema, &adapted)
            .unwrap()
            .with_schema(read.schema())
            .unwrap()
    );
    assert!(read.schema().fields().iter().all(|field| field_id(field).is_some()));
    assert_eq!(written.rows as usize, read.num_rows());
    read
}

/// All JSON files below a folder.
fn json_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            json_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
}

/// A resource and, for a Bundle, the resources in its entries.
fn resources(text: &str, out: &mut BTreeMap<String, Vec<String>>) {
    let Ok(object) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
        return;
    };
    let Some(resource_type) = object
        .get("resourceType")
        .and_then(|resource_type| serde_json::from_str::<String>(resource_type.get()).ok())
    else {
        return;
    };
    if resource_type == "Bundle"
        && let Some(entries) = object.get("entry")
    {
        for entry in serde_json::from_str::<Vec<BTreeMap<String, &RawValue>>>(entries.get()).unwrap() {
            if let Some(resource) = entry.get("resource") {
                resources(resource.get(), out);
            }
        }
    }
    out.entry(resource_type).or_default().push(text.to_owned());
}

#[test]
fn real_records_read_back_from_their_columns() {
    let real = crate::harness::real();
    let (mut files, mut by_type) = (Vec::new(), BTreeMap::new());
    json_files(&real.data, &mut files);
    for file in &files {
        resources(&std::fs::read_to_string(file).unwrap(), &mut by_type);
    }
    let (min_types, min_records) = if real.is_whole { (30, 5_000) } else { (15, 100) };
    assert!(by_type.len() > min_types && by_type.values().map(Vec::len).sum::<usize>() > min_records);
    let dir = tempfile::tempdir().unwrap();
    let mut tape = Tape::new();
    for (name, texts) in &by_type {
        let Some(type_id) = facts().lookup(name) else { continue };
        let (mut layout, mut batches) = (Layout::new(type_id), Vec::new());
        let mut shredder = Shredder::new(type_id);
        for part in texts.chunks(texts.len().div_ceil(3)) {
            for text in part {
                push(&mut shredder, &mut tape, text).unwrap();
            }
            let batch = shredder.finish().unwrap();
            check(type_id, &batch, part);
            batches.push(batch);
        }
        let read = through_parquet(type_id, &mut layout, &batches, dir.path());
        check(type_id, &read, texts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn generated_resources_read_back_from_their_columns(seed in any::<u64>()) {
        let mut generator = generate::Generator::new(seed);
        let resources: Vec<TypeId> = facts().resources().collect();
        let type_id = resources[generator.below(resources.len())];
        let (mut shredder, mut tape, mut layout) = (Shredder::new(type_id), Tape::new(), Layout::new(type_id));
        let (mut texts, mut batches) = (Vec::new(), Vec::new());
        for _ in 0..1 + generator.below(3) {
            let mut part = Vec::new();
            for _ in 0..1 + generator.below(6) {
                let text = generator.resource(type_id);
                push(&mut shredder, &mut tape, &text).unwrap();
                part.push(text);
            }
            let batch = shredder.finish().unwrap();
            check(type_id, &batch, &part);
            batches.push(batch);
            texts.extend(part);
        }
        let dir = tempfile::tempdir().unwrap();
        let read = through_parquet(type_id, &mut layout, &batches, dir.path());
        check(type_id, &read, &texts);
    }
}
