//! A data file without some of its rows, in which all others keep their places.
//!
//! Row ids, delete files and the places in page links count rows from the file's start, in every snapshot that reaches the file.
//! So an erased row leaves a blank one behind, which the file's delete files name in all snapshots and which the next compaction
//! drops. A blank row has nothing but what a neighbour's system columns say, and an id that no resource can have.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{concat_batches, take};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection};

use crate::fhir::TypeId;
use crate::lake::error::LakeError;
use crate::lake::file::FileWriter;
use crate::lake::written::WrittenFile;

/// Rows decoded at a time.
const BATCH_ROWS: usize = 1_024;
/// Columns in which a blank row says what its neighbour says. They decide who sees a row and bound what a file may hold.
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

/// Writes the file at `old` anew at `new` with the rows at `erased` (ascending, not all of its `rows`) blank.
pub(super) fn rewrite(old: &Path, new: &Path, ty: TypeId, rows: u64, erased: &[u64]) -> Result<WrittenFile, LakeError> {
    let failed = || LakeError::parquet("read", old);
    let first = (0..rows).zip(erased).take_while(|(at, erased)| at == *erased).count();
    let mut neighbour = one_row(old, rows, first)?;
    let file = File::open(old).map_err(LakeError::io("read", old))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed())?;
    let mut writer = FileWriter::create(new, ty, builder.schema(), rows as usize)?;
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(failed())?;
    let mut at = 0u64;
    for batch in reader {
        let batch = batch.map_err(LakeError::parquet("read", old))?;
        let end = at + batch.num_rows() as u64;
        let here = &erased[erased.partition_point(|row| *row < at)..erased.partition_point(|row| *row < end)];
        let mut blank = vec![false; batch.num_rows()];
        here.iter().for_each(|row| blank[(row - at) as usize] = true);
        if here.is_empty() {
            writer.write(&batch)?;
        } else {
            let leading = first.saturating_sub(at as usize);
            let batch = blanked(&neighbour, &batch, &blank, leading);
            writer.write(&batch.map_err(LakeError::parquet("write", new))?)?;
        }
        if let Some(last) = blank.iter().rposition(|blank| !blank) {
            neighbour = batch.slice(last, 1);
        }
        at = end;
    }
    writer.finish()
}

/// The row at a place.
fn one_row(path: &Path, rows: u64, at: usize) -> Result<RecordBatch, LakeError> {
    let failed = || LakeError::parquet("read", path);
    let file = File::open(path).map_err(LakeError::io("read", path))?;
    let selection = RowSelection::from_consecutive_ranges(std::iter::once(at..at + 1), rows as usize);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed())?;
    let mut reader = builder.with_row_selection(selection).build().map_err(failed())?;
    let row = reader.next().transpose();
    let row = row
        .map_err(LakeError::parquet("read", path))?
        .filter(|row| row.num_rows() == 1);
    row.ok_or_else(|| LakeError::Damaged(format!("{} has fewer rows than recorded", path.display())))
}

/// The batch with some rows blank; the first `leading` of these stand before the neighbour, all others behind theirs.
fn blanked(
    neighbour: &RecordBatch,
    batch: &RecordBatch,
    blank: &[bool],
    leading: usize,
) -> Result<RecordBatch, arrow::error::ArrowError> {
    let schema = batch.schema();
    // The neighbour of the rows at the batch's start is row zero, the batch's own follow.
    let both = concat_batches(&schema, [neighbour, batch])?;
    let (mut copied, mut kept, mut last) = (Vec::new(), Vec::new(), 0u32);
    for (row, blank) in blank.iter().enumerate() {
        if !blank {
            last = row as u32 + 1;
        }
        copied.push(last);
        kept.push((!blank).then_some(last));
    }
    let (copied_rows, kept_rows) = (UInt32Array::from(copied.clone()), UInt32Array::from(kept));
    let text = |column: &ArrayRef, of_blank: &dyn Fn(usize, &str) -> String| -> ArrayRef {
        let texts = column.as_string::<i32>();
        let values = blank.iter().enumerate().map(|(row, blank)| {
            let of = texts.value(copied[row] as usize);
            if *blank { of_blank(row, of) } else { of.to_owned() }
        });
        Arc::new(StringArray::from_iter_values(values))
    };
    let columns = schema.fields().iter().zip(both.columns());
    let columns = columns.map(|(field, column)| match field.name().as_str() {
        // Right behind the neighbour's in the order of ids, and before all where the neighbour is the first row that is left.
        "id" => Ok(text(column, &|row, id| match row < leading {
            true => String::new(),
            false => format!("{id}!"),
        })),
        "resource" => Ok(text(column, &|_, _| "{}".to_owned())),
        name if NEIGHBOURS.contains(&name) => take(column, &copied_rows, None),
        _ => take(column, &kept_rows, None),
    });
    RecordBatch::try_new(schema.clone(), columns.collect::<Result<_, _>>()?)
}
