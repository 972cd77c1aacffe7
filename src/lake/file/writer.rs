//! Writes a data file and collects the facts that the catalog records about it.

use super::adapt::adapt;
use super::checksums::{PageSums, seal, unsealed};
use super::properties::properties;
use crate::columns::layout::field_id;
use crate::fhir::TypeId;
use crate::lake::commit::written::{WrittenColumn, WrittenFile};
use crate::lake::error::LakeError;
use crate::lake::seal::{FileKey, Keys};
use crate::private;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::kernels::aggregate::{max, min};
use arrow::datatypes::{ArrowPrimitiveType, Int64Type, SchemaRef, TimestampMicrosecondType};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::errors::ParquetError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that is being written. If it is dropped before [`finish`](FileWriter::finish), an unfinished file stays at
/// its path.
#[derive(Debug)]
pub struct FileWriter {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<File>,
    sums: PageSums,
    /// The key that seals the file. `None` if it is clear.
    key: Option<FileKey>,
    rows: u64,
    nulls: Vec<u64>,
    owners: Option<RangeInclusive<i64>>,
    versions: Option<RangeInclusive<i64>>,
    last_updated: Option<RangeInclusive<i64>>,
}

impl FileWriter {
    /// Creates the file at `path`, which must not exist. `schema` comes from
    /// [`Layout::adopt`](crate::columns::layout::Layout::adopt) and has all columns of all batches that follow.
    /// `rows` is their approximate number of rows. If the lake's new files are sealed, the file gets its own key,
    /// which the commit stores.
    pub fn create(
        path: &Path,
        type_id: TypeId,
        schema: &SchemaRef,
        rows: usize,
        keys: &Keys,
    ) -> Result<FileWriter, LakeError> {
        let failed = || LakeError::parquet("write", path);
        let leaf = |name: &str| leaf_index(schema, name).ok_or_else(|| failed()(missing(name)));
        let key = keys.make()?;
        let places = (leaf("owner")?, leaf("id")?);
        let properties = properties(type_id, rows, places, key.as_ref()).map_err(failed())?;
        let file = private::options().read(true).write(true).create_new(true).open(path);
        let file = file.map_err(LakeError::io("write", path))?;
        // Leave out Arrow's own schema. It would double the size of the footer and only repeat Parquet's types.
        let sums = PageSums::default();
        let mut options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        if key.is_none() {
            options = options.with_page_store_factory(Arc::new(sums.clone()));
        }
        let writer = ArrowWriter::try_new_with_options(file, schema.clone(), options).map_err(failed())?;
        Ok(FileWriter {
            path: path.to_owned(),
            schema: schema.clone(),
            writer,
            sums,
            key,
            rows: 0,
            nulls: vec![0; schema.fields().len()],
            owners: None,
            versions: None,
            last_updated: None,
        })
    }

    /// Writes rows. They must follow the rows of earlier calls in the order of (`owner`, `id`).
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), LakeError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let batch = adapt(batch, &self.schema).map_err(LakeError::parquet("write", &self.path))?;
        self.writer
            .write(&batch)
            .map_err(LakeError::parquet("write", &self.path))?;
        self.rows += batch.num_rows() as u64;
        for (nulls, column) in self.nulls.iter_mut().zip(batch.columns()) {
            *nulls += column.null_count() as u64;
        }
        let failed = |column: &str| LakeError::parquet("write", &self.path)(missing(column));
        widen::<Int64Type>(&mut self.owners, &batch, "owner").ok_or_else(|| failed("owner"))?;
        widen::<Int64Type>(&mut self.versions, &batch, "version").ok_or_else(|| failed("version"))?;
        widen::<TimestampMicrosecondType>(&mut self.last_updated, &batch, "last_updated")
            .ok_or_else(|| failed("last_updated"))?;
        Ok(())
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the approximate size that the file would have if it ended here.
    pub fn bytes(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Finishes the file, which must have at least one row. The commit makes the file durable.
    pub fn finish(self) -> Result<WrittenFile, LakeError> {
        let FileWriter {
            path,
            schema,
            writer,
            sums,
            key,
            rows,
            nulls,
            owners,
            versions,
            last_updated,
        } = self;
        let mut file = match key {
            Some(_) => writer.into_inner().map_err(LakeError::parquet("write", &path))?,
            None => summed(writer, &sums, &path)?,
        };
        let (Some(owners), Some(versions), Some(last_updated)) = (owners, versions, last_updated) else {
            return Err(LakeError::parquet("write", &path)(ParquetError::General(
                "a file needs a row".to_owned(),
            )));
        };
        let (bytes, footer_size) = measure(&mut file).map_err(LakeError::io("write", &path))?;
        let columns = schema.fields().iter().zip(nulls).filter_map(|(field, nulls)| {
            let id = field_id(field)?;
            Some(WrittenColumn { id, nulls })
        });
        let columns = columns.collect();
        Ok(WrittenFile {
            path,
            rows,
            bytes,
            footer_size,
            owners,
            versions,
            last_updated,
            columns,
            key,
        })
    }
}

/// Finishes a clear file: writes the checksums of its pages, the footer, and the checksum of these bytes.
fn summed(mut writer: ArrowWriter<File>, sums: &PageSums, path: &Path) -> Result<File, LakeError> {
    writer.flush().map_err(LakeError::parquet("write", path))?;
    let start = writer.bytes_written() as u64;
    if sums.end() != start {
        return Err(LakeError::parquet("write", path)(ParquetError::General(
            "its pages are not where their checksums say".to_owned(),
        )));
    }
    writer
        .write_all(&sums.section())
        .map_err(LakeError::io("write", path))?;
    writer.append_key_value_metadata(unsealed(start));
    let file = writer.into_inner().map_err(LakeError::parquet("write", path))?;
    seal(&file, start).map_err(LakeError::io("write", path))?;
    Ok(file)
}

/// Writes all `batches` to the file at `path`. See [`FileWriter`].
pub fn write_file<'b>(
    path: &Path,
    type_id: TypeId,
    schema: &SchemaRef,
    batches: impl IntoIterator<Item = &'b RecordBatch, IntoIter: Clone>,
    keys: &Keys,
) -> Result<WrittenFile, LakeError> {
    let batches = batches.into_iter();
    let rows = batches.clone().map(RecordBatch::num_rows).sum();
    let mut writer = FileWriter::create(path, type_id, schema, rows, keys)?;
    for batch in batches {
        writer.write(batch)?;
    }
    writer.finish()
}

/// Returns the size of the file, and the size of its footer without length and magic number.
fn measure(file: &mut File) -> std::io::Result<(u64, u64)> {
    let bytes = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::End(-8))?;
    let mut length = [0; 4];
    file.read_exact(&mut length)?;
    Ok((bytes, u64::from(u32::from_le_bytes(length))))
}

/// Returns the index of a top-level column among all leaves. The column must have no children.
fn leaf_index(schema: &SchemaRef, name: &str) -> Option<usize> {
    let at = schema.index_of(name).ok()?;
    Some(
        schema.fields()[..at]
            .iter()
            .map(|field| leaves(field.data_type()))
            .sum(),
    )
}

fn leaves(data_type: &arrow::datatypes::DataType) -> usize {
    use arrow::datatypes::DataType;
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| leaves(field.data_type())).sum(),
        DataType::List(item) => leaves(item.data_type()),
        _ => 1,
    }
}

/// Extends the range to the batch's values. Returns `None` if there is no such column or it has no value.
fn widen<T: ArrowPrimitiveType<Native = i64>>(
    range: &mut Option<RangeInclusive<i64>>,
    batch: &RecordBatch,
    column: &str,
) -> Option<()> {
    let values = batch.column_by_name(column)?.as_primitive_opt::<T>()?;
    let (mut low, mut high) = (min(values)?, max(values)?);
    if let Some(range) = range {
        low = low.min(*range.start());
        high = high.max(*range.end());
    }
    *range = Some(low..=high);
    Some(())
}

fn missing(column: &str) -> ParquetError {
    ParquetError::General(format!("there is no column {column}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::json::Tape;
    use crate::columns::layout::{LAYOUT_VERSION, Layout, union_schema};
    use crate::columns::shred::{Shredder, SystemValues};
    use crate::fhir::facts;
    use crate::lake::file::{LAYOUT_VERSION_KEY, RESOURCE_TYPE_KEY};
    use arrow::compute::concat_batches;
    use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
    use parquet::basic::Compression;
    use parquet::file::metadata::PageIndexPolicy;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn observations(range: std::ops::Range<i64>, text: impl Fn(i64) -> String) -> RecordBatch {
        let mut shredder = Shredder::new(facts().lookup("Observation").unwrap());
        let mut tape = Tape::new();
        for at in range {
            let (id, text) = (format!("o{at:05}"), text(at));
            let system = SystemValues {
                owner: at / 10,
                id: &id,
                patient: Some("p"),
                application: "local",
                authorization: None,
                endpoint: None,
                version: at + 1,
                last_updated: 1_000 - at,
                digest: [0; 16],
                shared_refs: &["Organization/o".to_owned()],
                resource: &text,
            };
            shredder.push(&system, tape.parse(text.as_bytes()).unwrap()).unwrap();
        }
        shredder.finish().unwrap()
    }

    #[test]
    fn batches_of_different_columns_make_one_file() {
        let type_id = facts().lookup("Observation").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one.parquet");
        let padding = "x".repeat(500);
        let one = observations(0..3000, |at| {
            format!(r#"{{"status":"final","valueQuantity":{{"value":{at}.50}},"code":{{"text":"{padding}{at}"}}}}"#)
        });
        let two = observations(3000..3010, |at| {
            format!(r#"{{"valueQuantity":{{"unit":"mg"}},"code":{{"coding":[{{"code":"{at}"}}]}}}}"#)
        });
        let mut layout = Layout::new(type_id);
        let union = union_schema(type_id, [one.schema_ref().as_ref(), two.schema_ref()]).unwrap();
        let schema = layout.adopt(&union).unwrap().schema;
        let written = write_file(&path, type_id, &schema, [&one, &two], &Keys::none()).unwrap();

        assert_eq!(
            (written.rows, written.owners, written.versions),
            (3010, 0..=300, 1..=3010)
        );
        assert_eq!(written.last_updated, -2009..=1000);
        assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
        assert_eq!(written.columns.len(), schema.fields().len());
        let nulls = |name: &str| {
            let id = layout.column_id(name).unwrap();
            written.columns.iter().find(|column| column.id == id).unwrap().nulls
        };
        assert_eq!(
            (nulls("owner"), nulls("authorization"), nulls("status"), nulls("code")),
            (0, 3010, 10, 0)
        );

        let file = File::open(&path).unwrap();
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let read: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
        let read = concat_batches(read[0].schema_ref(), &read).unwrap();
        assert_eq!(read.schema_ref().fields(), schema.fields());
        let expected =
            concat_batches(&schema, &[adapt(&one, &schema).unwrap(), adapt(&two, &schema).unwrap()]).unwrap();
        assert_eq!(read.columns(), expected.columns());
    }

    #[test]
    fn encoding_is_as_the_layout_says() {
        let type_id = facts().lookup("Observation").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one.parquet");
        let batch = observations(0..3000, |at| {
            format!(r#"{{"status":"final","issued":"{at}","note":"{}"}}"#, "y".repeat(500))
        });
        let schema = Layout::new(type_id).adopt(batch.schema_ref()).unwrap().schema;
        let written = write_file(&path, type_id, &schema, [&batch], &Keys::none()).unwrap();

        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let footer = reader.metadata().file_metadata().key_value_metadata().unwrap();
        let value = |key: &str| {
            footer
                .iter()
                .find(|entry| entry.key == key)
                .and_then(|entry| entry.value.clone())
        };
        assert_eq!(value(LAYOUT_VERSION_KEY).unwrap(), LAYOUT_VERSION.to_string());
        assert_eq!(value(RESOURCE_TYPE_KEY).unwrap(), "Observation");
        assert!(written.footer_size > 0 && written.footer_size < written.bytes);

        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let builder =
            ParquetRecordBatchReaderBuilder::try_new_with_options(File::open(&path).unwrap(), options).unwrap();
        let group = builder.metadata().row_group(0);
        let leaf = |name: &str| {
            group
                .columns()
                .iter()
                .position(|column| column.column_path().string() == name)
                .unwrap()
        };
        let sorting: Vec<_> = group
            .sorting_columns()
            .unwrap()
            .iter()
            .map(|column| column.column_idx)
            .collect();
        assert_eq!(sorting, [leaf("owner") as i32, leaf("id") as i32]);
        assert!(group.column(leaf("id")).bloom_filter_offset().is_some());
        assert!(group.column(leaf("status")).bloom_filter_offset().is_none());
        assert_eq!(group.column(leaf("status")).compression(), Compression::LZ4_RAW);
        assert!(matches!(
            group.column(leaf("resource")).compression(),
            Compression::ZSTD(_)
        ));
        assert!(group.column(leaf("resource")).statistics().is_none());
        assert!(group.column(leaf("status")).statistics().is_some());
        let pages = &builder.metadata().offset_index().unwrap()[0];
        assert_eq!(pages[leaf("status")].page_locations().len(), 3);
        let resource_pages = pages[leaf("resource")].page_locations().len();
        assert!((40..60).contains(&resource_pages), "{resource_pages}");
    }

    #[test]
    fn a_file_is_never_overwritten_and_needs_a_row() {
        let type_id = facts().lookup("Observation").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one.parquet");
        let batch = observations(0..0, |_| String::new());
        let schema = Layout::new(type_id).adopt(batch.schema_ref()).unwrap().schema;
        assert!(matches!(
            write_file(&path, type_id, &schema, [&batch], &Keys::none()),
            Err(LakeError::Parquet { .. })
        ));
        assert!(matches!(
            write_file(&path, type_id, &schema, [&batch], &Keys::none()),
            Err(LakeError::Io { .. })
        ));
    }
}
