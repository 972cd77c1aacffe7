//! Decodes some rows and columns of a row group with the Parquet library's Arrow reader.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::super::cache::file::{CountedFile, OpenFile, ReadBytes};
use super::super::conditions::ranges::Ranges;
use super::super::error::ScanError;
use super::super::rows::clip::Clip;
use super::adapt::adapt;

/// Returns a reader of some leaves of a row group, for the rows at the positions `rows`. Its batches have at most
/// `batch` rows.
pub(in crate::lake::scan) fn reader(
    file: &Arc<OpenFile>,
    group: usize,
    leaves: &[usize],
    rows: &Ranges,
    batch: usize,
    read: &Arc<ReadBytes>,
) -> Result<ParquetRecordBatchReader, ScanError> {
    let metadata = file.arrow().clone();
    let mask = ProjectionMask::leaves(metadata.parquet_schema(), leaves.iter().copied());
    let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(CountedFile::new(file, read), metadata)
        .with_row_groups(vec![group])
        .with_projection(mask)
        .with_batch_size(batch.max(1));
    if rows.count() < file.groups()[group].rows as usize {
        builder = builder.with_row_selection(rows.selection());
    }
    builder.build().map_err(file.parquet())
}

/// Reads these rows of a row group as one batch with the schema of the clip.
pub(in crate::lake::scan) fn read(
    file: &Arc<OpenFile>,
    group: usize,
    clip: &Clip,
    rows: &Ranges,
    read: &Arc<ReadBytes>,
) -> Result<RecordBatch, ScanError> {
    let leaves = clip.leaves(file.fields(), file.sizes());
    read_leaves(file, group, clip, &leaves, rows, read)
}

/// Reads some leaves of the clip, as [`read`] does. The clip's other leaves are null in the batch.
pub(in crate::lake::scan) fn read_leaves(
    file: &Arc<OpenFile>,
    group: usize,
    clip: &Clip,
    leaves: &[usize],
    rows: &Ranges,
    read: &Arc<ReadBytes>,
) -> Result<RecordBatch, ScanError> {
    let count = rows.count();
    if leaves.is_empty() || count == 0 {
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let none = RecordBatch::try_new_with_options(Arc::new(arrow::datatypes::Schema::empty()), vec![], &options)?;
        return Ok(adapt(&none, clip.schema())?);
    }
    let mut batches = Vec::new();
    for batch in reader(file, group, leaves, rows, count, read)? {
        batches.push(adapt(&batch.map_err(file.parquet())?, clip.schema())?);
    }
    match batches.len() {
        1 => Ok(batches.remove(0)),
        _ => Ok(concat_batches(clip.schema(), &batches)?),
    }
}

/// Reads a root column with a single leaf for all rows of a row group. The array has the column's type in the file.
pub(in crate::lake::scan) fn read_leaf(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
) -> Result<ArrayRef, ScanError> {
    let rows = Ranges::all(file.groups()[group].rows);
    read_root(file, group, column, &rows)
}

/// Reads these rows of a root column that has a single leaf. The array has the column's type in the file.
pub(in crate::lake::scan) fn read_root(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
    rows: &Ranges,
) -> Result<ArrayRef, ScanError> {
    let leaf = file.require(column)?;
    let count = rows.count();
    let mut arrays = Vec::new();
    for batch in reader(file, group, &[leaf], rows, count, &ReadBytes::new(file))? {
        arrays.push(batch.map_err(file.parquet())?.column(0).clone());
    }
    match arrays.len() {
        1 => Ok(arrays.remove(0)),
        0 => Err(file.missing(column)),
        _ => Ok(arrow::compute::concat(
            &arrays.iter().map(|array| array.as_ref()).collect::<Vec<_>>(),
        )?),
    }
}

/// Returns a function from a row to its value in a text column, or `None` for null. Fails if the column has another
/// type.
pub(in crate::lake::scan) fn texts<'a>(
    file: &OpenFile,
    array: &'a ArrayRef,
    what: &'static str,
) -> Result<impl Fn(usize) -> Option<&'a str>, ScanError> {
    let texts = array.as_string_opt::<i32>().ok_or_else(|| file.missing(what))?;
    Ok(move |row| texts.is_valid(row).then(|| texts.value(row)))
}
