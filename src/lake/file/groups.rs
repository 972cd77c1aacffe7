//! The row groups of a file that is being written. A row group is encoded from batches, or copied from another file as
//! it is.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::{Buf, Bytes};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriter, compute_leaves};
use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::SerializedFileWriter;

use super::checked::CheckedFile;
use super::properties::{ROW_GROUP_BYTES, ROW_GROUP_ROWS};
use crate::lake::error::LakeError;

/// The row groups of an unfinished file.
pub(super) struct RowGroups {
    file: SerializedFileWriter<File>,
    encoders: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The row group that takes the next rows. `None` before its first row.
    open: Option<Encoding>,
}

/// A row group whose rows are being encoded.
struct Encoding {
    /// One writer for each leaf.
    leaves: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl Encoding {
    fn bytes(&self) -> usize {
        self.leaves
            .iter()
            .map(ArrowColumnWriter::get_estimated_total_bytes)
            .sum()
    }

    /// Returns the number of rows for which the row group has room. If it has no rows yet, their size is unknown, so
    /// only the number of rows counts.
    fn room(&self) -> usize {
        let rows = ROW_GROUP_ROWS.saturating_sub(self.rows);
        if self.rows == 0 {
            return rows;
        }
        let bytes = self.bytes();
        let left = ROW_GROUP_BYTES.saturating_sub(bytes);
        rows.min(left.checked_div(bytes / self.rows).unwrap_or(rows))
    }
}

impl fmt::Debug for RowGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowGroups").finish_non_exhaustive()
    }
}

impl RowGroups {
    /// Makes the row groups of a new file. `writer` must write batches of this schema, and must have written nothing.
    pub(super) fn new(writer: ArrowWriter<File>, schema: SchemaRef) -> Result<RowGroups, ParquetError> {
        let (file, encoders) = writer.into_serialized_writer()?;
        Ok(RowGroups {
            file,
            encoders,
            schema,
            open: None,
        })
    }

    /// Encodes rows. They start a new row group when the open one has [`ROW_GROUP_ROWS`] rows or about
    /// [`ROW_GROUP_BYTES`] bytes.
    pub(super) fn encode(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        let mut at = 0;
        while at < batch.num_rows() {
            let open = match &mut self.open {
                Some(open) => open,
                open => open.insert(Encoding {
                    leaves: self
                        .encoders
                        .create_column_writers(self.file.flushed_row_groups().len())?,
                    rows: 0,
                }),
            };
            let count = open.room().min(batch.num_rows() - at);
            if count == 0 {
                self.end()?;
                continue;
            }
            let rows = batch.slice(at, count);
            let mut leaves = open.leaves.iter_mut();
            for (field, column) in self.schema.fields().iter().zip(rows.columns()) {
                for (values, leaf) in compute_leaves(field, column)?.iter().zip(&mut leaves) {
                    leaf.write(values)?;
                }
            }
            open.rows += count;
            at += count;
        }
        Ok(())
    }

    /// Ends the row group that takes the next rows, if it has any.
    pub(super) fn end(&mut self) -> Result<(), ParquetError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut group = self.file.next_row_group()?;
        for leaf in open.leaves {
            leaf.close()?.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    /// Returns the properties with which rows are encoded.
    pub(super) fn properties(&self) -> &WriterPropertiesPtr {
        self.file.properties()
    }

    /// Whether this file has the same leaves as the file with this footer.
    pub(super) fn has_leaves_of(&self, metadata: &ParquetMetaData) -> bool {
        let theirs = metadata.file_metadata().schema_descr();
        self.file.schema_descr().columns() == theirs.columns()
    }

    /// Ends the open row group. Then writes a row group that consists of these columns, in the order of the leaves.
    /// Errors name `path`, the file that is written.
    pub(super) fn copy(
        &mut self,
        columns: impl Iterator<Item = Result<CopiedColumn, LakeError>>,
        path: &Path,
    ) -> Result<(), LakeError> {
        let failed = || LakeError::parquet("write", path);
        self.end().map_err(failed())?;
        let mut group = self.file.next_row_group().map_err(failed())?;
        for column in columns {
            let CopiedColumn { chunk, closed, .. } = column?;
            group.append_column(&chunk, closed).map_err(failed())?;
        }
        group.close().map_err(failed())?;
        Ok(())
    }

    /// Returns the number of bytes in the file so far.
    pub(super) fn bytes_written(&self) -> usize {
        self.file.bytes_written()
    }

    /// Returns the approximate number of bytes that the open row group adds to the file.
    pub(super) fn bytes_to_come(&self) -> usize {
        self.open.as_ref().map_or(0, Encoding::bytes)
    }

    /// Writes bytes between the row groups and the footer.
    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// Adds an entry to the footer.
    pub(super) fn append_key_value_metadata(&mut self, entry: KeyValue) {
        self.file.append_key_value_metadata(entry);
    }

    /// Ends the open row group and writes the footer.
    pub(super) fn into_inner(mut self) -> Result<File, ParquetError> {
        self.end()?;
        self.file.into_inner()
    }
}

/// A finished column chunk, with its statistics, page indexes and bloom filter.
pub(in crate::lake) struct CopiedColumn {
    pub(in crate::lake) chunk: ColumnChunk,
    pub(in crate::lake) closed: ColumnCloseResult,
    /// The length and the checksum of each page, in the order of the chunk.
    pub(in crate::lake) sums: Vec<(u32, u32)>,
}

impl CopiedColumn {
    /// Reads a column chunk of another file, which has checksums, and verifies its pages. `metadata` is the file's
    /// footer with its page indexes.
    pub(in crate::lake) fn read(
        file: &CheckedFile,
        metadata: &ParquetMetaData,
        group: usize,
        leaf: usize,
    ) -> Result<CopiedColumn, ParquetError> {
        let column = metadata.row_group(group).column(leaf);
        let (start, length) = column.byte_range();
        let offsets = metadata.offset_index().and_then(|index| index.get(group)?.get(leaf));
        let index = metadata.column_index().and_then(|index| index.get(group)?.get(leaf));
        let index = index.filter(|index| !matches!(index, ColumnIndexMetaData::NONE));
        let sums = file
            .checksums()
            .map(|sums| sums.within(start..start + length).collect());
        Ok(CopiedColumn {
            chunk: ColumnChunk {
                start,
                bytes: file.get_bytes(start, usize::try_from(length)?)?,
            },
            sums: sums.unwrap_or_default(),
            closed: ColumnCloseResult {
                bytes_written: length,
                rows_written: metadata.row_group(group).num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: Sbbf::read_from_column_chunk(column, file)?,
                column_index: index.cloned(),
                offset_index: offsets.cloned(),
            },
        })
    }
}

/// The bytes of a column chunk, at the position that they have in their file.
#[derive(Clone)]
pub(in crate::lake) struct ColumnChunk {
    pub(in crate::lake) start: u64,
    pub(in crate::lake) bytes: Bytes,
}

impl Length for ColumnChunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ColumnChunk {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self
            .get_bytes(start, self.len().saturating_sub(start) as usize)?
            .reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let from = start.checked_sub(self.start).map(|from| from as usize);
        let range = from.and_then(|from| Some(from..from.checked_add(length)?));
        let range = range.filter(|range| range.end <= self.bytes.len());
        let range =
            range.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start} lie outside the chunk")))?;
        Ok(self.bytes.slice(range))
    }
}
