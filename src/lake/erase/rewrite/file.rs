//! Rewrites a data file. Copies what has no erased rows, and decodes only what cannot be copied.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringBuilder, UInt32Array};
use arrow::compute::{concat, take};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};

use super::blank::{Blank, blank};
use super::column::BlankRows;
use crate::fhir::TypeId;
use crate::lake::commit::written::WrittenFile;
use crate::lake::error::LakeError;
use crate::lake::file::{CheckedFile, FileWriter, row_bytes};
use crate::lake::seal::Keys;

/// The maximum number of rows decoded at a time.
const BATCH_ROWS: u64 = 1_024;
/// The approximate bytes of decoded rows in memory. A single row may be larger.
const BATCH_BYTES: u64 = 8 << 20;

/// Rewrites the file at `old` to `new`. The new file is sealed if the lake's new files are sealed, and unencrypted
/// otherwise. The rows at the positions `erased` become blank. The positions ascend. At least one of the file's `rows`
/// rows is not among them. If both files are unencrypted, a row group without an erased row is copied as it is. Of
/// another row group those pages are copied in which no erased row has a value, unless its first row is erased.
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
        let here = &erased[erased.partition_point(|row| *row < at)..next];
        let is_copied = if here.is_empty() {
            writer.copy_group((old, &file), metadata.metadata(), group)?
        } else {
            copy_blanked(&mut writer, (old, &file), metadata.metadata(), group, (at, here))?
        };
        if is_copied {
            // If the next row group starts with a blank row, that row copies from the last row of this row group that
            // is not blank.
            if erased.get(next) == Some(&end) {
                let blank = here
                    .iter()
                    .rev()
                    .zip(1..)
                    .take_while(|(row, back)| **row == end - back)
                    .count();
                neighbour = neighbour_at(old, &file, &metadata, rows, end as usize - 1 - blank)?;
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
            let before = match blank.iter().rposition(|blank| !blank) {
                Some(last) => {
                    let next = one_row(&batch, last).map_err(LakeError::parquet("read", old))?;
                    std::mem::replace(&mut neighbour, next)
                }
                None => neighbour.clone(),
            };
            if here.is_empty() {
                writer.write(&batch)?;
            } else {
                let blanked = blanked(&before, &batch, &blank, first.saturating_sub(at as usize));
                drop(batch);
                writer.write(&blanked.map_err(LakeError::parquet("write", new))?)?;
            }
            at = end;
        }
    }
    writer.finish()
}

/// Copies a row group in which some rows become blank, without decoding whole rows. `first` is the position of the row
/// group's first row in the file. `erased` are positions in the file, too. Returns `false` and writes nothing if the
/// row group must be decoded.
fn copy_blanked(
    writer: &mut FileWriter,
    (old, file): (&Path, &CheckedFile),
    metadata: &ParquetMetaData,
    group: usize,
    (first, erased): (u64, &[u64]),
) -> Result<bool, LakeError> {
    // The neighbour of the first row is in another row group.
    if erased.first() == Some(&first) || !writer.takes_chunks_of(file, metadata, group) {
        return Ok(false);
    }
    let blank = BlankRows {
        file,
        metadata,
        group,
        rows: erased.iter().map(|row| (row - first) as usize).collect(),
        properties: Arc::clone(writer.properties()),
    };
    let columns = (0..metadata.row_group(group).num_columns()).map(|leaf| blank.column(leaf));
    match columns.collect::<Result<Option<Vec<_>>, _>>() {
        Ok(Some(columns)) => writer.append_group(metadata.file_metadata().schema_descr_ptr(), columns),
        Ok(None) => Ok(false),
        Err(error) => Err(LakeError::parquet("read", old)(error)),
    }
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
    let columns = metadata.schema().fields().iter().map(|field| field.name().as_str());
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.clone(), metadata.clone());
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.filter(|name| is_of_neighbour(name)));
    let builder = builder.with_projection(mask).with_row_selection(selection);
    let row = builder.build().map_err(failed())?.next().transpose();
    let row = row
        .map_err(LakeError::parquet("read", path))?
        .filter(|row| row.num_rows() == 1);
    row.ok_or_else(|| LakeError::Damaged(format!("{} has fewer rows than recorded", path.display())))
}

/// Whether a blank row needs the neighbour's value of this column.
fn is_of_neighbour(column: &str) -> bool {
    matches!(blank(column), Blank::Neighbour | Blank::Made(_))
}

/// Copies one row of a batch: its id and the columns that blank rows copy. The result does not keep the batch in
/// memory.
fn one_row(batch: &RecordBatch, at: usize) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let fields = schema.fields().iter().enumerate();
    let columns: Vec<usize> = fields
        .filter(|(_, field)| is_of_neighbour(field.name()))
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
    let columns = columns.map(|(field, column)| match self::blank(field.name()) {
        Blank::Null => take(column, &kept_rows, None),
        Blank::Neighbour => copy(field.name(), column),
        Blank::Made(make) => texts(&copy(field.name(), column)?, |row, text, neighbour| {
            if !blank[row] {
                text.append_value(neighbour);
            } else if row < leading {
                // The id of the first `leading` rows sorts before all ids.
                text.append_value("");
            } else {
                text.append_value(make(neighbour));
            }
        }),
        Blank::Always(always) => texts(column, |row, text, value| {
            text.append_value(if blank[row] { always } else { value });
        }),
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
