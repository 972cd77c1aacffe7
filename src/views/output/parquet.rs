//! Writes rows as Parquet. A column with a tag `ansi/type` has the type that the tag names. The types of other columns
//! depend on the declared FHIR type and may depend on all values (`decide`). If a type depends on the values, the rows
//! wait in a spool until the last row has arrived. A field's metadata has the column's FHIR type, its tags, and the
//! reason if the column is text.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::decide::{Seen, WhyText};
use super::room::SpoolRoom;
use super::spool::Spool;
use super::typed;
use crate::views::definition::column::Column;
use crate::views::definition::sql_type::SqlType;
use crate::views::error::RunError;

/// The maximum number of rows in a row group.
const ROW_GROUP: usize = 131_072;
/// The maximum bytes of the unfinished row groups of all writers that share the memory. A row group is in memory until
/// it is written.
const BYTES: usize = 96 << 20;
/// The maximum bytes of spooled rows in memory, for all writers that share the memory.
const SPOOLED: usize = 16 << 20;

/// The key in a field's metadata for the reason why its values are text.
const WHY_TEXT: &str = "why_text";

/// A column that is text although its FHIR type has a SQL type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextColumn {
    /// The column's name.
    pub name: String,
    /// Why the column is text.
    pub why: WhyText,
}

/// A writer that takes batches as they arrive.
pub(in crate::views) struct ParquetWriter {
    columns: Vec<Column>,
    schema: SchemaRef,
    /// The number of writers that share the memory.
    share: usize,
    form: Form,
}

enum Form {
    /// All types are known.
    Known(Box<ArrowWriter<Vec<u8>>>),
    /// Values decide the types of some columns. `seen` has an entry for each column: what its values have in common so
    /// far, or `None` if the type is known.
    Open { seen: Vec<Option<Seen>>, spool: Spool },
}

impl ParquetWriter {
    /// Returns a writer. `share` is the number of writers that work at the same time. Each of them gets an equal part
    /// of the memory. With `as_text`, dates, times and decimals without a tag are written as text. Otherwise their
    /// values decide the types, and the rows wait until all values are known. `room` limits the bytes of waiting rows.
    pub(in crate::views) fn new(
        columns: &[Column],
        as_text: bool,
        share: usize,
        room: Option<Arc<SpoolRoom>>,
    ) -> Result<ParquetWriter, RunError> {
        let share = share.max(1);
        let mut columns = columns.to_vec();
        let seen: Vec<Option<Seen>> = columns.iter().map(Seen::of).collect();
        for (column, _) in columns.iter_mut().zip(&seen).filter(|(_, seen)| seen.is_some()) {
            column.sql = SqlType::Text(None);
        }
        let schema = typed::schema(&columns);
        let form = if as_text || seen.iter().all(Option::is_none) {
            Form::Known(Box::new(begun(&schema)?))
        } else {
            Form::Open {
                seen,
                spool: Spool::new(schema.clone(), SPOOLED / share, room),
            }
        };
        Ok(ParquetWriter {
            columns,
            schema,
            share,
            form,
        })
    }

    /// Takes rows. Returns the bytes that are ready, which may be none.
    pub(in crate::views) fn write(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, RunError> {
        let batch = typed::typed(&self.columns, &self.schema, batch)?;
        match &mut self.form {
            Form::Known(writer) => written(writer, &batch, self.share),
            Form::Open { seen, spool } => {
                for (seen, array) in seen.iter_mut().zip(batch.columns()) {
                    if let Some(seen) = seen {
                        seen.look(array);
                    }
                }
                spool.push(batch)?;
                Ok(Vec::new())
            }
        }
    }

    /// Finishes the output, because there are no more rows. The result is an iterator that writes the rest of the
    /// output when it is read.
    pub(in crate::views) fn finish(self) -> Result<Rest, RunError> {
        let (share, columns) = (self.share, self.columns);
        let (seen, spool) = match self.form {
            Form::Known(writer) => {
                return Ok(Rest {
                    batches: Box::new(std::iter::empty()),
                    writer: Some(writer),
                    share,
                    texts: Vec::new(),
                });
            }
            Form::Open { seen, spool } => (seen, spool),
        };
        let (retyped, texts) = Retyped::new(&columns, &seen);
        Ok(Rest {
            writer: Some(Box::new(begun(&retyped.schema)?)),
            batches: Box::new(spool.batches().map(move |batch| retyped.of(&batch?))),
            share,
            texts,
        })
    }
}

/// The rest of the output after the last row has arrived.
pub(in crate::views) struct Rest {
    batches: Box<dyn Iterator<Item = Result<RecordBatch, RunError>> + Send>,
    /// `None` after everything is written and after an error.
    writer: Option<Box<ArrowWriter<Vec<u8>>>>,
    share: usize,
    texts: Vec<TextColumn>,
}

impl Rest {
    /// Returns the columns that are text although their FHIR type has a SQL type.
    pub(in crate::views) fn texts(&self) -> &[TextColumn] {
        &self.texts
    }
}

impl Iterator for Rest {
    type Item = Result<Vec<u8>, RunError>;

    /// Returns the next bytes, which are never empty. After an error, returns `None`.
    fn next(&mut self) -> Option<Self::Item> {
        let mut writer = self.writer.take()?;
        for batch in self.batches.by_ref() {
            match batch.and_then(|batch| written(&mut writer, &batch, self.share)) {
                Ok(bytes) if bytes.is_empty() => continue,
                Ok(bytes) => {
                    self.writer = Some(writer);
                    return Some(Ok(bytes));
                }
                Err(error) => return Some(Err(error)),
            }
        }
        Some(writer.into_inner().map_err(RunError::from))
    }
}

/// The columns, with the types that their values decided.
struct Retyped {
    schema: SchemaRef,
    /// The columns whose values must be converted, with their types. `None` for a column that keeps its type in the
    /// spool.
    columns: Vec<Option<Column>>,
}

impl Retyped {
    /// Returns the types that the values decide, and the columns that stay text.
    fn new(columns: &[Column], seen: &[Option<Seen>]) -> (Retyped, Vec<TextColumn>) {
        let (mut fields, mut retyped, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (column, seen) in columns.iter().zip(seen) {
            let field = column.typed_field();
            let (field, column) = match seen.as_ref().map(Seen::decided) {
                None => (field, None),
                Some(Ok(sql)) => {
                    let column = Column { sql, ..column.clone() };
                    (column.typed_field(), Some(column))
                }
                Some(Err(why)) => {
                    texts.push(TextColumn {
                        name: column.name.clone(),
                        why,
                    });
                    let mut metadata = field.metadata().clone();
                    metadata.insert(WHY_TEXT.to_owned(), why.to_string());
                    (Arc::new(field.as_ref().clone().with_metadata(metadata)), None)
                }
            };
            fields.push(field);
            retyped.push(column);
        }
        let retyped = Retyped {
            schema: Arc::new(Schema::new(fields)),
            columns: retyped,
        };
        (retyped, texts)
    }

    /// Converts rows of the spool to the decided types.
    fn of(&self, batch: &RecordBatch) -> Result<RecordBatch, RunError> {
        let arrays = self.columns.iter().zip(batch.columns());
        let arrays = arrays.map(|(column, array)| match column {
            Some(column) => typed::array(column, array),
            None => Ok(array.clone()),
        });
        let arrays = arrays.collect::<Result<Vec<_>, RunError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            arrays,
            &options,
        )?)
    }
}

fn begun(schema: &SchemaRef) -> Result<ArrowWriter<Vec<u8>>, RunError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .build();
    Ok(ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?)
}

/// Writes rows. Returns the bytes that are ready.
fn written(writer: &mut ArrowWriter<Vec<u8>>, batch: &RecordBatch, share: usize) -> Result<Vec<u8>, RunError> {
    writer.write(batch)?;
    if writer.memory_size() > BYTES / share {
        writer.flush()?;
    }
    Ok(std::mem::take(writer.inner_mut()))
}
