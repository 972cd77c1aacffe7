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

/// Rewrites the file at `old` to `new`. The new file is sealed if the lake's new files are sealed, and unencrypted
/// otherwise. The rows at the positions `erased` become blank. The positions ascend. At least one of the file's `rows`
/// rows is not among them. A row group without an erased row is copied as it is if both files are unencrypted.
pub(in crate::lake) fn rewrite(
    old: &Path,
    new: &Path,
    type_id: TypeId,
    (rows, erased): (u64, &[u64]),
    keys: &Keys,
) -> Result<WrittenFile, LakeError> {
    let failed = || LakeError::parquet("read", old);
    let file = CheckedFile::open(old, keys)?;
    let options = ArrowReaderOptions::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .with_encoding_stats_as_mask(false);
    let metadata = file.metadata(old, options)?;
    let first = (0..rows).zip(erased).take_while(|(at, erased)| at == *erased).count();
    let mut neighbour = neighbour_at(old, &file, &metadata, rows, first)?;
    let mut writer = FileWriter::create(new, type_id, metadata.schema(), rows as usize, keys)?;
    let mut at = 0u64;
    for group in 0..metadata.metadata().num_row_groups() {
        let end = at + metadata.metadata().row_group(group).num_rows() as u64;
        let next = erased.partition_point(|row| *row < end);
        let is_untouched = erased.partition_point(|row| *row < at) == next;
        if is_untouched && writer.copy_group((old, &file), metadata.metadata(), group)? {
            // If the next row group starts with a blank row, that row copies from the last row of this row group.
            if erased.get(next) == Some(&end) {
                neighbour = neighbour_at(old, &file, &metadata, rows, end as usize - 1)?;
            }
            at = end;
            continue;
        }
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

/// Reads one row of a file: its id and the columns that blank rows copy.
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

/// Copies one row of a batch: its id and the columns that blank rows copy. The result does not keep the batch in
/// memory.
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

/// Returns the batch with the marked rows blank. A blank row copies from the last row before it that is not blank. The
/// first `leading` rows have no such row before them, so they copy from the first row that stays.
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

#[cfg(test)]
mod tests {
    use arrow::compute::concat_batches;
    use arrow::datatypes::Int64Type;

    use super::*;
    use crate::columns::json::Tape;
    use crate::columns::layout::Layout;
    use crate::columns::shred::{Shredder, SystemValues};
    use crate::fhir::facts;
    use crate::lake::file::{ROW_GROUP_ROWS, verify_checksums, write_file};

    fn all(path: &Path) -> RecordBatch {
        let reader = CheckedFile::open(path, &Keys::none()).unwrap().rows(path).unwrap();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        concat_batches(batches[0].schema_ref(), &batches).unwrap()
    }

    #[test]
    fn row_groups_without_erased_rows_stay_as_they_are() {
        let type_id = facts().lookup("Basic").unwrap();
        let rows = 2 * ROW_GROUP_ROWS + 10;
        let (mut shredder, mut tape) = (Shredder::new(type_id), Tape::new());
        for at in 0..rows {
            let id = format!("{at:06}");
            let text = format!(r#"{{"resourceType":"Basic","id":"{id}","created":"2024-01-01"}}"#);
            let system = SystemValues {
                owner: at as i64 / 100,
                patient: Some("p"),
                application: "local",
                ..SystemValues::outside(&id, &text)
            };
            shredder.push(&system, tape.parse(text.as_bytes()).unwrap()).unwrap();
        }
        let batch = shredder.finish().unwrap();
        let schema = Layout::new(type_id).adopt(batch.schema_ref()).unwrap().schema;
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old.parquet"), dir.path().join("new.parquet"));
        write_file(&old, type_id, &schema, [&batch], &Keys::none()).unwrap();
        // The first rows of the second row group. Their neighbour is the last row of the first one.
        let erased = [
            ROW_GROUP_ROWS as u64,
            ROW_GROUP_ROWS as u64 + 1,
            ROW_GROUP_ROWS as u64 + 7,
        ];
        let written = rewrite(&old, &new, type_id, (rows as u64, &erased), &Keys::none()).unwrap();

        assert_eq!(written.rows, rows as u64);
        verify_checksums(&new, &Keys::none()).unwrap();
        let (before, after) = (all(&old), all(&new));
        let texts = |batch: &RecordBatch, name: &str| -> Vec<String> {
            let column = batch.column_by_name(name).unwrap().as_string::<i32>().iter();
            column.map(|text| text.unwrap_or_default().to_owned()).collect()
        };
        let (ids, resources) = (texts(&after, "id"), texts(&after, "resource"));
        assert!(ids.is_sorted());
        assert_eq!(ids[ROW_GROUP_ROWS], format!("{:06}!", ROW_GROUP_ROWS - 1));
        let owners = after.column_by_name("owner").unwrap().as_primitive::<Int64Type>();
        assert_eq!(owners.value(ROW_GROUP_ROWS), (ROW_GROUP_ROWS as i64 - 1) / 100);
        let first = ROW_GROUP_ROWS;
        for blank in [first, first + 1, first + 7] {
            assert_eq!(resources[blank], "{}");
        }
        for (from, to) in [(0, first), (first + 2, first + 7), (first + 8, rows)] {
            assert_eq!(after.slice(from, to - from), before.slice(from, to - from));
        }
        // The pages of the first row group are the same bytes.
        let file = CheckedFile::open(&old, &Keys::none()).unwrap().rows(&old).unwrap();
        let pages = file
            .metadata()
            .row_group(0)
            .columns()
            .iter()
            .map(|column| column.byte_range());
        let end = pages.map(|(start, length)| start + length).max().unwrap() as usize;
        let (mut bytes, copy) = (std::fs::read(&old).unwrap(), std::fs::read(&new).unwrap());
        assert_eq!(bytes[..end], copy[..end]);

        // A damaged page in a copied row group is an error of reading the old file, not of writing the new one.
        bytes[end - 1] ^= 1;
        std::fs::write(&old, bytes).unwrap();
        let again = dir.path().join("again.parquet");
        let error = rewrite(&old, &again, type_id, (rows as u64, &erased), &Keys::none()).unwrap_err();
        assert!(!error.is_of_writing(), "{error}");
        assert!(error.to_string().contains("old.parquet"), "{error}");
    }
}
