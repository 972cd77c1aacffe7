//! Merges runs of files into one sequence of new files. Its memory does not grow with the size of the files.
//!
//! It reads each run as a stream of batches in (`owner`, `id`) order without deleted rows and merges the streams row by
//! row. It starts a new file only where the owner changes, so the owner ranges of the new files are disjoint.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{Int64Type, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, RowSelection};
use parquet::file::metadata::PageIndexPolicy;

use crate::fhir::TypeId;
use crate::lake::commit::written::WrittenFile;
use crate::lake::deletes;
use crate::lake::error::LakeError;
use crate::lake::file::{CheckedFile, FileWriter, adapt, check_digests, row_bytes};
use crate::lake::seal::Keys;
use crate::lake::snapshot::DataFile;

/// The approximate bytes of decoded rows in memory for all runs together.
const READ_BYTES: u64 = 24 << 20;
/// The maximum number of rows gathered before they go to the file writer.
const GATHER_ROWS: usize = 1_024;
/// The approximate bytes of gathered rows. A single row may be larger.
const GATHER_BYTES: usize = 16 << 20;

/// Returns the number of files into which this many bytes are merged: the bytes divided by the target, rounded, but
/// at least one. So a file has at most one and a half times the target on average.
pub(super) fn pieces(bytes: u64, target: u64) -> u64 {
    ((bytes + target / 2) / target).max(1)
}

/// An error of a merge.
#[derive(Debug)]
pub(super) enum MergeError {
    /// This data file or its delete file cannot be read.
    Input(Arc<DataFile>, LakeError),
    /// Any other error.
    Other(LakeError),
}

impl MergeError {
    /// Returns a function for `map_err` that names the data file whose read failed.
    fn of(input: &Arc<DataFile>) -> impl FnOnce(LakeError) -> MergeError {
        let input = Arc::clone(input);
        move |error| MergeError::Input(input, error)
    }
}

impl From<LakeError> for MergeError {
    fn from(error: LakeError) -> MergeError {
        MergeError::Other(error)
    }
}

/// Facts from the footers of the files to merge.
#[derive(Debug)]
pub(super) struct Inputs {
    /// The distinct schemas of the files.
    pub(super) schemas: Vec<SchemaRef>,
    /// The estimated bytes of a decoded row, by file id. The row group with the largest rows decides.
    row_bytes: BTreeMap<u64, u64>,
}

/// Reads the footers of the files to merge.
pub(super) fn inspect(runs: &[Vec<Arc<DataFile>>], keys: &Keys) -> Result<Inputs, MergeError> {
    let mut inputs = Inputs {
        schemas: Vec::new(),
        row_bytes: BTreeMap::new(),
    };
    for data in runs.iter().flatten() {
        let metadata = metadata(data, keys).map_err(MergeError::of(data))?;
        let groups = 0..metadata.metadata().num_row_groups();
        let heaviest = groups.map(|group| row_bytes(metadata.metadata(), group)).max();
        inputs.row_bytes.insert(data.id, heaviest.unwrap_or(1));
        if !inputs.schemas.contains(metadata.schema()) {
            inputs.schemas.push(Arc::clone(metadata.schema()));
        }
    }
    Ok(inputs)
}

fn metadata(data: &DataFile, keys: &Keys) -> Result<ArrowReaderMetadata, LakeError> {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = CheckedFile::open(&data.path, keys)?.metadata(&data.path, options)?;
    let rows = metadata.metadata().file_metadata().num_rows();
    if u64::try_from(rows) == Ok(data.rows) {
        Ok(metadata)
    } else {
        Err(LakeError::Damaged(format!(
            "{} has {rows} rows where {} are recorded",
            data.path.display(),
            data.rows
        )))
    }
}

/// Merges `runs` into files of `schema` and about `target` bytes at the paths that `new_path` returns. If no row
/// remains, it writes no file.
pub(super) fn merge(
    runs: Vec<Vec<Arc<DataFile>>>,
    inputs: &Inputs,
    (type_id, schema): (TypeId, &SchemaRef),
    target: u64,
    keys: &Keys,
    mut new_path: impl FnMut() -> Result<PathBuf, LakeError>,
) -> Result<Vec<WrittenFile>, MergeError> {
    let weight = |file: &Arc<DataFile>| row_weight(file) * file.live_rows() as f64;
    let total: f64 = runs.iter().flatten().map(weight).sum();
    let rows: u64 = runs.iter().flatten().map(|file| file.live_rows()).sum();
    let pieces = pieces(total as u64, target);
    let mut output = Output {
        keys,
        type_id,
        schema,
        max_files: pieces,
        cut_at: total / pieces as f64,
        rows_a_file: rows.div_ceil(pieces) as usize,
        weight: 0.0,
        open: None,
        done: Vec::new(),
        new_path: &mut new_path,
    };
    let run_bytes = READ_BYTES / runs.len().max(1) as u64;
    let streams = runs.into_iter().map(|files| Stream {
        keys,
        files: files.into(),
        open: None,
        is_unchecked: false,
        row_weight: 0.0,
        schema: Arc::clone(schema),
        bytes: run_bytes,
        row_bytes: &inputs.row_bytes,
    });
    Merge::new(streams)?.write(&mut output)?;
    Ok(output.finish()?)
}

/// Returns the bytes of a row of this file in the output, by estimate. The sizes of the inputs decide where to start a
/// new file, not the size that the unfinished file has so far. So the number of files has a known bound, and compaction
/// terminates.
fn row_weight(file: &DataFile) -> f64 {
    file.bytes as f64 / file.rows.max(1) as f64
}

/// The rows of one run as a stream of batches.
struct Stream<'i> {
    keys: &'i Keys,
    files: VecDeque<Arc<DataFile>>,
    /// The [`row_weight`] of the file that is being read.
    row_weight: f64,
    open: Option<(Arc<DataFile>, ParquetRecordBatchReader)>,
    /// Whether the file that is being read has no checksums, so that only the digests of its resources reveal damage.
    is_unchecked: bool,
    schema: SchemaRef,
    /// The approximate bytes of decoded rows in a batch.
    bytes: u64,
    row_bytes: &'i BTreeMap<u64, u64>,
}

impl Stream<'_> {
    /// Returns the next batch that has a row, with all columns of the schema. `None` at the end of the run.
    fn next(&mut self) -> Result<Option<RecordBatch>, MergeError> {
        loop {
            if let Some((file, reader)) = &mut self.open {
                match reader.next() {
                    Some(Ok(batch)) if batch.num_rows() == 0 => continue,
                    Some(batch) => {
                        let is_unchecked = self.is_unchecked;
                        let batch = batch.and_then(|batch| {
                            if is_unchecked {
                                check_digests(&batch)?;
                            }
                            adapt(&batch, &self.schema)
                        });
                        let batch = batch.map_err(LakeError::parquet("read", &file.path));
                        return batch.map(Some).map_err(MergeError::of(file));
                    }
                    None => self.open = None,
                }
            }
            let Some(file) = self.files.pop_front() else {
                return Ok(None);
            };
            self.row_weight = row_weight(&file);
            let row_bytes = self.row_bytes.get(&file.id).copied().unwrap_or(1).max(1);
            let batch_rows = (self.bytes / row_bytes).clamp(1, 4_096) as usize;
            let (reader, has_checksums) = open(&file, batch_rows, self.keys).map_err(MergeError::of(&file))?;
            self.is_unchecked = !has_checksums;
            self.open = Some((file, reader));
        }
    }
}

/// Starts reading the rows of a file that are not deleted. Also returns whether the pages have checksums, which reveal
/// damage.
fn open(data: &DataFile, batch_rows: usize, keys: &Keys) -> Result<(ParquetRecordBatchReader, bool), LakeError> {
    let file = CheckedFile::open(&data.path, keys)?;
    let has_checksums = file.has_checksums();
    let mut builder = file.rows(&data.path)?;
    if let Some(file) = &data.deletes {
        let gone = deletes::read(&file.path, keys)?;
        builder = builder.with_row_selection(without(&gone, data.rows as usize));
    }
    let reader = builder.with_batch_size(batch_rows).build();
    Ok((reader.map_err(LakeError::parquet("read", &data.path))?, has_checksums))
}

/// Selects all rows except those at the deleted positions.
fn without(deleted: &[u64], rows: usize) -> RowSelection {
    let mut kept = Vec::new();
    let mut from = 0;
    for position in deleted {
        let position = *position as usize;
        if from < position {
            kept.push(from..position);
        }
        from = position + 1;
    }
    if from < rows {
        kept.push(from..rows);
    }
    RowSelection::from_consecutive_ranges(kept.into_iter(), rows)
}

/// The current row of a stream.
struct Cursor<'i> {
    stream: Stream<'i>,
    batch: RecordBatch,
    /// The average memory of a row of the batch, in bytes.
    row_bytes: usize,
    owner: usize,
    id: usize,
    row: usize,
    /// The index of `batch` in [`Merge::batches`].
    slot: usize,
}

impl Cursor<'_> {
    fn owner(&self) -> i64 {
        self.batch
            .column(self.owner)
            .as_primitive::<Int64Type>()
            .value(self.row)
    }

    fn key(&self) -> (i64, &str) {
        (
            self.owner(),
            self.batch.column(self.id).as_string::<i32>().value(self.row),
        )
    }
}

struct Merge<'i> {
    /// The current rows of the streams, in descending order of (`owner`, `id`).
    cursors: Vec<Cursor<'i>>,
    /// The batches of the gathered rows and of the cursors.
    batches: Vec<RecordBatch>,
    /// The gathered rows, in order: the index of the batch, and the row in it.
    gathered: Vec<(usize, usize)>,
    /// The approximate memory of the gathered rows, in bytes.
    gathered_bytes: usize,
}

impl<'i> Merge<'i> {
    fn new(streams: impl Iterator<Item = Stream<'i>>) -> Result<Merge<'i>, MergeError> {
        let mut merge = Merge {
            cursors: Vec::new(),
            batches: Vec::new(),
            gathered: Vec::new(),
            gathered_bytes: 0,
        };
        for mut stream in streams {
            if let Some(batch) = stream.next()? {
                let (owner, id) = key_columns(&batch)?;
                let slot = merge.batches.len();
                merge.batches.push(batch.clone());
                merge.insert(Cursor {
                    stream,
                    row_bytes: row_memory(&batch),
                    batch,
                    owner,
                    id,
                    row: 0,
                    slot,
                });
            }
        }
        Ok(merge)
    }

    fn insert(&mut self, cursor: Cursor<'i>) {
        // Keep the descending order, so that `pop` takes the lowest.
        let at = self
            .cursors
            .partition_point(|other| other.key().cmp(&cursor.key()) == Ordering::Greater);
        self.cursors.insert(at, cursor);
    }

    fn write(mut self, output: &mut Output<'_>) -> Result<(), MergeError> {
        let mut last_owner = None;
        while let Some(mut cursor) = self.cursors.pop() {
            loop {
                let owner = cursor.owner();
                if last_owner != Some(owner) {
                    if output.is_full() {
                        self.flush(output)?;
                        output.cut()?;
                        cursor.slot = self.keep(&cursor);
                    }
                    last_owner = Some(owner);
                }
                self.gathered.push((cursor.slot, cursor.row));
                self.gathered_bytes += cursor.row_bytes;
                output.weight += cursor.stream.row_weight;
                cursor.row += 1;
                if self.gathered.len() >= GATHER_ROWS || self.gathered_bytes >= GATHER_BYTES {
                    self.flush(output)?;
                    cursor.slot = self.keep(&cursor);
                }
                if cursor.row == cursor.batch.num_rows() {
                    let Some(batch) = cursor.stream.next()? else { break };
                    cursor.row_bytes = row_memory(&batch);
                    cursor.batch = batch;
                    cursor.row = 0;
                    cursor.slot = self.keep(&cursor);
                }
                if self.cursors.last().is_some_and(|next| next.key() < cursor.key()) {
                    self.insert(cursor);
                    break;
                }
            }
        }
        Ok(self.flush(output)?)
    }

    /// Adds the cursor's batch to `batches`. Returns its index.
    fn keep(&mut self, cursor: &Cursor<'_>) -> usize {
        self.batches.push(cursor.batch.clone());
        self.batches.len() - 1
    }

    /// Writes the gathered rows. Keeps only the batches of the cursors.
    fn flush(&mut self, output: &mut Output<'_>) -> Result<(), LakeError> {
        if !self.gathered.is_empty() {
            let (slot, first) = self.gathered[0];
            let together = self
                .gathered
                .iter()
                .enumerate()
                .all(|(at, place)| *place == (slot, first + at));
            if together {
                output.write(&self.batches[slot].slice(first, self.gathered.len()))?;
            } else {
                let batches: Vec<&RecordBatch> = self.batches.iter().collect();
                let rows = interleave_record_batch(&batches, &self.gathered)
                    .map_err(|error| LakeError::Damaged(format!("files of one table do not fit together: {error}")))?;
                output.write(&rows)?;
            }
            self.gathered.clear();
            self.gathered_bytes = 0;
        }
        self.batches.clear();
        for cursor in &mut self.cursors {
            cursor.slot = self.batches.len();
            self.batches.push(cursor.batch.clone());
        }
        Ok(())
    }
}

fn row_memory(batch: &RecordBatch) -> usize {
    batch.get_array_memory_size() / batch.num_rows().max(1)
}

fn key_columns(batch: &RecordBatch) -> Result<(usize, usize), LakeError> {
    let find = |name: &str| {
        batch
            .schema_ref()
            .index_of(name)
            .map_err(|_| LakeError::Damaged(format!("a file without the column {name}")))
    };
    let (owner, id) = (find("owner")?, find("id")?);
    let typed = batch.column(owner).as_primitive_opt::<Int64Type>().is_some()
        && batch.column(id).as_string_opt::<i32>().is_some();
    typed
        .then_some((owner, id))
        .ok_or_else(|| LakeError::Damaged("a file whose owner or id has another type".to_owned()))
}

/// The new files.
struct Output<'a> {
    keys: &'a Keys,
    type_id: TypeId,
    schema: &'a Arc<Schema>,
    max_files: u64,
    /// The estimated bytes of a file that is full. The next change of the owner then starts a new file.
    cut_at: f64,
    rows_a_file: usize,
    /// The estimated bytes (by `row_weight`) of the rows of the file that is being written.
    weight: f64,
    open: Option<FileWriter>,
    done: Vec<WrittenFile>,
    new_path: &'a mut dyn FnMut() -> Result<PathBuf, LakeError>,
}

impl Output<'_> {
    fn write(&mut self, rows: &RecordBatch) -> Result<(), LakeError> {
        let writer = match &mut self.open {
            Some(writer) => writer,
            None => {
                let path = (self.new_path)()?;
                let writer = FileWriter::create(&path, self.type_id, self.schema, self.rows_a_file, self.keys)?;
                self.open.insert(writer)
            }
        };
        writer.write(rows)
    }

    /// Whether the file that is being written ends where the owner next changes. The last file takes all remaining
    /// rows.
    fn is_full(&self) -> bool {
        self.weight >= self.cut_at && (self.done.len() as u64) + 1 < self.max_files
    }

    fn cut(&mut self) -> Result<(), LakeError> {
        self.weight = 0.0;
        if let Some(writer) = self.open.take() {
            self.done.push(writer.finish()?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<WrittenFile>, LakeError> {
        self.cut()?;
        Ok(self.done)
    }
}
