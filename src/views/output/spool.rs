//! Keeps batches until the last one has arrived: a few in memory, the others in a temporary file without a name. The
//! file is sealed with a key that is only in memory.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::room::{SpoolRoom, Taken};
use crate::lake::scratch::Parts;
use crate::views::error::RunError;

/// The number of rows that are read back at once.
const ROWS: usize = 8_192;

/// Batches of one schema, in order.
pub(super) struct Spool {
    schema: SchemaRef,
    /// The maximum bytes of batches in memory. If the batches have more bytes, all of them move to the file.
    max_bytes: usize,
    held: Vec<RecordBatch>,
    bytes: usize,
    file: Option<Parts>,
    /// The position and the length of each run in the file. A run is the batches that moved to the file together, as
    /// Parquet.
    runs: Vec<(u64, usize)>,
    /// The bytes of the spool's batches in memory and in the file, as they count against the common limit.
    taken: Taken,
}

impl Spool {
    pub(super) fn new(schema: SchemaRef, max_bytes: usize, room: Option<Arc<SpoolRoom>>) -> Spool {
        Spool {
            schema,
            max_bytes,
            held: Vec::new(),
            bytes: 0,
            file: None,
            runs: Vec::new(),
            taken: Taken::new(room),
        }
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<(), RunError> {
        let bytes = batch.get_array_memory_size();
        self.taken.add(bytes)?;
        self.bytes += bytes;
        self.held.push(batch);
        if self.bytes > self.max_bytes {
            self.put()?;
        }
        Ok(())
    }

    /// Returns the batches. The batches in the file are read when they are needed. All batches count against the common
    /// limit until the iterator is dropped.
    pub(super) fn batches(self) -> impl Iterator<Item = Result<RecordBatch, RunError>> + Send {
        let Spool {
            held,
            file,
            runs,
            taken,
            ..
        } = self;
        let stored = runs.into_iter().flat_map(move |(at, length)| {
            let read = match &file {
                Some(file) => read(file, at, length),
                None => Ok(Vec::new()),
            };
            match read {
                Ok(batches) => batches.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        });
        let all = stored.chain(held.into_iter().map(Ok));
        all.inspect(move |_| {
            // The closure owns `taken`, so `taken` is dropped together with the iterator.
            let _held = &taken;
        })
    }

    /// Moves the batches in memory to the file.
    fn put(&mut self) -> Result<(), RunError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::LZ4_RAW)
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), self.schema.clone(), Some(properties))?;
        for batch in self.held.drain(..) {
            writer.write(&batch)?;
        }
        let run = writer.into_inner()?;
        self.taken.remove(std::mem::take(&mut self.bytes));
        self.taken.add(run.len())?;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(Parts::create_in(&std::env::temp_dir())?),
        };
        self.runs.push((file.add(&run)?, run.len()));
        Ok(())
    }
}

fn read(file: &Parts, at: u64, length: usize) -> Result<Vec<RecordBatch>, RunError> {
    let mut run = Vec::new();
    file.read(at, length, 0..length, &mut run)?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(run))?;
    let batches = reader.with_batch_size(ROWS).build()?;
    Ok(batches.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;

    #[test]
    fn batches_come_back_in_order_from_memory_and_from_the_file() {
        let schema = Arc::new(Schema::new(vec![Field::new("c", DataType::Utf8, true)]));
        for max_bytes in [0, 2_000, usize::MAX] {
            let mut spool = Spool::new(schema.clone(), max_bytes, None);
            for from in (0..1_000).step_by(50) {
                let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
                    (from..from + 50).map(|number| number.to_string()),
                ));
                spool
                    .push(RecordBatch::try_new(schema.clone(), vec![texts]).unwrap())
                    .unwrap();
            }
            assert_eq!(spool.file.is_some(), max_bytes != usize::MAX);
            let found: Vec<String> = spool
                .batches()
                .flat_map(|batch| {
                    let batch = batch.unwrap();
                    let texts = batch.column(0).as_string::<i32>().clone();
                    texts.iter().flatten().map(str::to_owned).collect::<Vec<_>>()
                })
                .collect();
            assert!(
                found.iter().map(|text| text.parse::<usize>().unwrap()).eq(0..1_000),
                "{max_bytes}"
            );
        }
    }
}
