//! Rewrites a data file without some of its rows. All other rows keep their positions.
//!
//! Row ids, delete files and page links count rows from the file's start, in every snapshot that has the file. So an
//! erased row becomes a blank row. The file's new delete files delete the blank row in all snapshots, and the next
//! compaction drops it. A blank row has a neighbour's system columns and an id that no resource can have.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder, UInt32Array};
use arrow::compute::{concat, take};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::file::metadata::PageIndexPolicy;

use crate::fhir::TypeId;
use crate::lake::commit::written::WrittenFile;
use crate::lake::error::LakeError;
use crate::lake::file::{CheckedFile, FileWriter, row_bytes};
use crate::lake::seal::Keys;

/// The maximum number of rows decoded at a time.
const BATCH_ROWS: u64 = 1_024;
/// The approximate bytes of decoded rows in memory. A single row may be larger.
const BATCH_BYTES: u64 = 8 << 20;
/// The columns that a blank row copies from its neighbour. Some of them must not be null, some decide which scopes
/// show a row, and the catalog has bounds for some.
const NEIGHBOURS: [&str; 8] = [
    "owner",
    "patient",
    "application",
    "authorization",
    "endpoint",
    "version",
    "last_updated",
    "digest",
];

/// Rewrites the file at `old` to `new`, sealed or clear like the lake's new files. The rows at `erased` become blank.
/// These positions ascend and are not all of the file's `rows`.
pub(in crate::lake) fn rewrite(
    old: &Path,
    new: &Path,
    type_id: TypeId,
    (rows, erased): (u64, &[u64]),
    keys: &Keys,
) -> Result<WrittenFile, LakeError> {
    let failed = || LakeError::parquet("read", old);
    let file = CheckedFile::open(old, keys)?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = file.metadata(old, options)?;
    let first = (0..rows).zip(erased).take_while(|(at, erased)| at == *erased).count();
    let mut neighbour = neighbour_at(old, &file, &metadata, rows, first)?;
    let mut writer = FileWriter::create(new, type_id, metadata.schema(), rows as usize, keys)?;
    let mut at = 0u64;
    for group in 0..metadata.metadata().num_row_groups() {
        let batch_rows = (BATCH_BYTES / row_bytes(metadata.metadata(), group)).clamp(1, BATCH_ROWS);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone())
            .with_row_groups(vec![group])
            .with_batch_size(batch_rows as usize);
        for batch in reader.build().map_err(failed())? {
            let batch = batch.map_err(LakeError::parquet("read", old))?;
            let end = at + batch.num_rows() as u64;
            let here = &erased[erased.partition_point(|row| *row < at)..erased.partition_point(|row| *row < end)];
            let mut blank = vec![false; batch.num_rows()];
            here.iter().for_each(|row| blank[(row - at) as usize] = true);
            if let Some(last) = blank.iter().rposition(|blank| !blank) {
                let next = one_row(&batch, last).map_err(LakeError::parquet("read", old))?;
                let before = std::mem::replace(&mut neighbour, next);
                if here.is_empty() {
                    writer.write(&batch)?;
                } else {
                    write_blanked(
                        &mut writer,
                        new,
                        &before,
                        batch,
                        &blank,
                        first.saturating_sub(at as usize),
                    )?;
                }
            } else {
                let before = neighbour.clone();
                write_blanked(
                    &mut writer,
                    new,
                    &before,
                    batch,
                    &blank,
                    first.saturating_sub(at as usize),
                )?;
            }
            at = end;
        }
    }
    writer.finish()
}

fn write_blanked(
    writer: &mut FileWriter,
    new: &Path,
    neighbour: &RecordBatch,
    batch: RecordBatch,
    blank: &[bool],
    leading: usize,
) -> Result<(), LakeError> {
    let blanked = blanked(neighbour, &batch, blank, leading).map_err(LakeError::parquet("write", new))?;
    drop(batch);
    writer.write(&blanked)
}

/// Reads the columns that blank rows copy, and the id, from the row at a position of a file.
fn neighbour_at(
    path: &Path,
    file: &CheckedFile,
    metadata: &ArrowReaderMetadata,
    rows: u64,
    at: usize,
) -> Result<RecordBatch, LakeError> {
    let failed = || LakeError::parquet("read", path);
    let selection = RowSelection::from_consecutive_ranges(std::iter::once(at..at + 1), rows as usize);
    let columns = NEIGHBOURS.into_iter().chain(["id"]);
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone());
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns);
    let builder = builder.with_projection(mask).with_row_selection(selection);
    let row = builder.build().map_err(failed())?.next().transpose();
    let row = row
        .map_err(LakeError::parquet("read", path))?
        .filter(|row| row.num_rows() == 1);
    row.ok_or_else(|| LakeError::Damaged(format!("{} has fewer rows than recorded", path.display())))
}

/// Copies the columns that blank rows copy, and the id, from one row of a batch. The result does not keep the batch
/// in memory.
fn one_row(batch: &RecordBatch, at: usize) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let fields = schema.fields().iter().enumerate();
    let taken = |name: &str| name == "id" || NEIGHBOURS.contains(&name);
    let columns: Vec<usize> = fields
        .filter(|(_, field)| taken(field.name()))
        .map(|(at, _)| at)
        .collect();
    let batch = batch.project(&columns)?;
    let row = UInt32Array::from(vec![at as u32]);
    let columns = batch.columns().iter().map(|column| take(column, &row, None));
    RecordBatch::try_new(batch.schema(), columns.collect::<Result<_, _>>()?)
}

/// Returns the batch with the marked rows blank. A blank row copies the last row before it that is not blank. The
/// first `leading` rows have none and copy the first row that stays.
fn blanked(
    neighbour: &RecordBatch,
    batch: &RecordBatch,
    blank: &[bool],
    leading: usize,
) -> Result<RecordBatch, ArrowError> {
    // `neighbour` becomes row 0 of the columns to copy from. The batch's own rows follow it.
    let (mut copied, mut kept, mut last) = (Vec::new(), Vec::new(), 0u32);
    for (row, blank) in blank.iter().enumerate() {
        if !blank {
            last = row as u32 + 1;
        }
        copied.push(last);
        kept.push((!blank).then_some(row as u32));
    }
    let (copied_rows, kept_rows) = (UInt32Array::from(copied), UInt32Array::from(kept));
    let copy = |name: &str, column: &ArrayRef| -> Result<ArrayRef, ArrowError> {
        let before = neighbour.column_by_name(name);
        let before = before.ok_or_else(|| ArrowError::SchemaError(format!("no column {name}")))?;
        take(&concat(&[before, column])?, &copied_rows, None)
    };
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| match field.name().as_str() {
        // A blank row's new id sorts right after the id of its neighbour. The id of the first `leading` rows sorts
        // before all ids.
        "id" => {
            let ids = copy("id", column)?;
            texts(&ids, |row, text, ids| {
                if !blank[row] {
                    text.append_value(ids)
                } else if row < leading {
                    text.append_value("")
                } else {
                    text.append_value(format!("{ids}!"))
                }
            })
        }
        "resource" => texts(column, |row, text, resource| {
            text.append_value(if blank[row] { "{}" } else { resource });
        }),
        name if NEIGHBOURS.contains(&name) => copy(name, column),
        _ => take(column, &kept_rows, None),
    });
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<_, _>>()?)
}

/// Makes a text column from another one. `append` adds the new value of each row.
fn texts(column: &ArrayRef, mut append: impl FnMut(usize, &mut StringBuilder, &str)) -> Result<ArrayRef, ArrowError> {
    let texts = column
        .as_string_opt::<i32>()
        .ok_or_else(|| ArrowError::SchemaError("a column of texts holds something else".to_owned()))?;
    let mut made = StringBuilder::with_capacity(texts.len(), texts.value_data().len());
    for row in 0..texts.len() {
        append(row, &mut made, texts.value(row));
    }
    Ok(Arc::new(made.finish()))
}
