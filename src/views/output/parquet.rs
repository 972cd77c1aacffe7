//! Writes rows as Parquet. Values have their columns' SQL types. By default these are text for decimals, dates and
//! times, so that nothing is lost. The FHIR type of a column and its tags are in its field's metadata.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::typed;
use crate::views::definition::column::Column;
use crate::views::error::RunError;

/// Rows of a row group at most.
const ROW_GROUP: usize = 131_072;
/// Bytes that all row groups under way may hold: they are in memory until they are written.
const BYTES: usize = 96 << 20;

/// Writes batches as they come.
pub(in crate::views) struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    columns: Vec<Column>,
    schema: SchemaRef,
    /// Bytes that its row group may hold.
    max_bytes: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// One of `share` writers that are at work at once.
    pub(in crate::views) fn new(sink: W, columns: &[Column], share: usize) -> Result<ParquetWriter<W>, RunError> {
        let schema = typed::schema(columns);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        Ok(ParquetWriter {
            writer: ArrowWriter::try_new(sink, schema.clone(), Some(properties))?,
            columns: columns.to_vec(),
            schema,
            max_bytes: BYTES / share.max(1),
        })
    }

    pub(in crate::views) fn write(&mut self, batch: &RecordBatch) -> Result<(), RunError> {
        let batch = typed::typed(&self.columns, &self.schema, batch)?;
        self.writer.write(&batch)?;
        if self.writer.memory_size() > self.max_bytes {
            self.writer.flush()?;
        }
        Ok(())
    }

    /// Writes the footer and returns the sink back.
    pub(in crate::views) fn finish(self) -> Result<W, RunError> {
        Ok(self.writer.into_inner()?)
    }

    /// The written bytes, until they are taken out.
    pub(in crate::views) fn sink(&mut self) -> &mut W {
        self.writer.inner_mut()
    }
}
