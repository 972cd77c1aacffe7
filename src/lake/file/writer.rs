//! Writes a data file and collects the facts that the catalog records about it.

use super::adapt::adapt;
use super::checked::CheckedFile;
use super::checksums::{PageSums, seal, unsealed};
use super::groups::{CopiedColumn, RowGroups};
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
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::statistics::Statistics;
use parquet::schema::types::SchemaDescPtr;
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
    groups: RowGroups,
    sums: PageSums,
    /// The key that seals the file. `None` if the file is unencrypted.
    key: Option<FileKey>,
    rows: u64,
    nulls: Vec<u64>,
    owners: Option<RangeInclusive<i64>>,
    versions: Option<RangeInclusive<i64>>,
    last_updated: Option<RangeInclusive<i64>>,
}

impl FileWriter {
    /// Creates the file at `path`, which must not exist. `schema` comes from
    /// [`Layout::adopt`](crate::columns::layout::Layout::adopt) and has all columns of all batches that follow. `rows`
    /// is the approximate number of rows in these batches. If the lake's new files are sealed, the file gets its own
    /// key, which the commit stores.
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
        let groups = RowGroups::new(writer, schema.clone()).map_err(failed())?;
        Ok(FileWriter {
            path: path.to_owned(),
            schema: schema.clone(),
            groups,
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
        self.groups
            .encode(&batch)
            .map_err(LakeError::parquet("write", &self.path))?;
        self.rows += batch.num_rows() as u64;
        for (nulls, column) in self.nulls.iter_mut().zip(batch.columns()) {
            *nulls += column.null_count() as u64;
        }
        let facts = Facts::of_batch(&batch).map_err(LakeError::parquet("write", &self.path))?;
        self.widen(&facts);
        Ok(())
    }

    /// Copies a row group of the file at `old` as it is, without decoding it. `metadata` is the footer of that file
    /// with its page indexes and with the encodings of its pages as a list, not as a mask. Returns `false` and copies
    /// nothing unless both files are unencrypted and have the same columns, and the file at `old` has checksums and
    /// statistics.
    pub(in crate::lake) fn copy_group(
        &mut self,
        (old, from): (&Path, &CheckedFile),
        metadata: &ParquetMetaData,
        group: usize,
    ) -> Result<bool, LakeError> {
        let copied = metadata.row_group(group);
        if !self.takes_chunks_of(from, metadata, group) {
            return Ok(false);
        }
        let Some(facts) = Facts::of_group(&self.schema, copied) else {
            return Ok(false);
        };
        let read = |leaf| CopiedColumn::read(from, metadata, group, leaf).map_err(LakeError::parquet("read", old));
        self.append(facts, copied.num_rows() as u64, (0..copied.num_columns()).map(read))?;
        Ok(true)
    }

    /// Whether column chunks of this row group can become part of the file as they are: both files are unencrypted and
    /// have the same columns, the other file has checksums, and its footer tells the encodings of the pages.
    pub(in crate::lake) fn takes_chunks_of(
        &self,
        from: &CheckedFile,
        metadata: &ParquetMetaData,
        group: usize,
    ) -> bool {
        // A scan needs the encodings of the pages. If the footer was read without them, the copy would lose them.
        let mut columns = metadata.row_group(group).columns().iter();
        let has_encodings = columns.all(|column| column.page_encoding_stats().is_some());
        let are_clear = self.key.is_none() && from.checksums().is_some();
        are_clear && has_encodings && self.groups.has_leaves_of(metadata)
    }

    /// Appends a row group that consists of these columns, in the order of the leaves. `schema` is the Parquet schema
    /// of the file. Returns `false` and appends nothing if a column lacks statistics.
    pub(in crate::lake) fn append_group(
        &mut self,
        schema: SchemaDescPtr,
        columns: Vec<CopiedColumn>,
    ) -> Result<bool, LakeError> {
        let rows = columns.first().map_or(0, |column| column.closed.rows_written);
        let group = RowGroupMetaData::builder(schema)
            .set_num_rows(rows as i64)
            .set_column_metadata(columns.iter().map(|column| column.closed.metadata.clone()).collect())
            .build()
            .map_err(LakeError::parquet("write", &self.path))?;
        let Some(facts) = Facts::of_group(&self.schema, &group) else {
            return Ok(false);
        };
        self.append(facts, rows, columns.into_iter().map(Ok))?;
        Ok(true)
    }

    /// Returns the properties with which rows are encoded.
    pub(in crate::lake) fn properties(&self) -> &WriterPropertiesPtr {
        self.groups.properties()
    }

    /// Appends a row group. `nulls` are the nulls of each column of the table, and `facts` those of the row group.
    fn append(
        &mut self,
        (nulls, facts): (Vec<u64>, Facts),
        rows: u64,
        columns: impl Iterator<Item = Result<CopiedColumn, LakeError>>,
    ) -> Result<(), LakeError> {
        let sums = self.sums.clone();
        let columns = columns.map(|column| {
            let mut column = column?;
            sums.extend(std::mem::take(&mut column.sums).into_iter());
            Ok(column)
        });
        self.groups.copy(columns, &self.path)?;
        self.rows += rows;
        self.nulls.iter_mut().zip(nulls).for_each(|(all, nulls)| *all += nulls);
        self.widen(&facts);
        Ok(())
    }

    fn widen(&mut self, facts: &Facts) {
        widen(&mut self.owners, &facts.owners);
        widen(&mut self.versions, &facts.versions);
        widen(&mut self.last_updated, &facts.last_updated);
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the approximate size that the file would have if it ended here.
    pub fn bytes(&self) -> u64 {
        (self.groups.bytes_written() + self.groups.bytes_to_come()) as u64
    }

    /// Finishes the file. Fails if it has no row. The commit makes the file durable.
    pub fn finish(self) -> Result<WrittenFile, LakeError> {
        let FileWriter {
            path,
            schema,
            groups,
            sums,
            key,
            rows,
            nulls,
            owners,
            versions,
            last_updated,
        } = self;
        let mut file = match key {
            Some(_) => groups.into_inner().map_err(LakeError::parquet("write", &path))?,
            None => summed(groups, &sums, &path)?,
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

/// Finishes an unencrypted file: writes the checksums of its pages, the footer, and a checksum of all bytes after the
/// pages.
fn summed(mut groups: RowGroups, sums: &PageSums, path: &Path) -> Result<File, LakeError> {
    groups.end().map_err(LakeError::parquet("write", path))?;
    let start = groups.bytes_written() as u64;
    if sums.end() != start {
        return Err(LakeError::parquet("write", path)(ParquetError::General(
            "its pages are not where their checksums say".to_owned(),
        )));
    }
    groups
        .write_all(&sums.section())
        .map_err(LakeError::io("write", path))?;
    groups.append_key_value_metadata(unsealed(start));
    let file = groups.into_inner().map_err(LakeError::parquet("write", path))?;
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

/// The lowest and highest values in some rows. The catalog records them for each file.
struct Facts {
    owners: RangeInclusive<i64>,
    versions: RangeInclusive<i64>,
    last_updated: RangeInclusive<i64>,
}

impl Facts {
    /// Returns the facts of a batch that has a row.
    fn of_batch(batch: &RecordBatch) -> Result<Facts, ParquetError> {
        Ok(Facts {
            owners: bounds::<Int64Type>(batch, "owner")?,
            versions: bounds::<Int64Type>(batch, "version")?,
            last_updated: bounds::<TimestampMicrosecondType>(batch, "last_updated")?,
        })
    }

    /// Reads the footer of a row group. Returns the number of nulls in each column, and the facts of the row group.
    /// `None` if the footer lacks one of these.
    fn of_group(schema: &SchemaRef, group: &RowGroupMetaData) -> Option<(Vec<u64>, Facts)> {
        let bounds = |name: &str| match group.column(leaf_index(schema, name)?).statistics()? {
            Statistics::Int64(values) => Some(*values.min_opt()?..=*values.max_opt()?),
            _ => None,
        };
        let mut leaf = 0;
        let nulls = schema.fields().iter().map(|field| {
            let column = group.column(leaf);
            leaf += leaves(field.data_type());
            // If a column is null in a row, each of its leaves has one slot of definition level zero for the row. So
            // the first number of the histogram is the number of nulls.
            match column.definition_level_histogram() {
                _ if !field.is_nullable() => Some(0),
                Some(levels) => u64::try_from(*levels.values().first()?).ok(),
                None if column.column_descr().max_def_level() == 1 => column.statistics()?.null_count_opt(),
                None => None,
            }
        });
        let facts = Facts {
            owners: bounds("owner")?,
            versions: bounds("version")?,
            last_updated: bounds("last_updated")?,
        };
        Some((nulls.collect::<Option<_>>()?, facts))
    }
}

/// Returns the lowest and the highest value of a column. Fails if there is no such column or if it has no value.
fn bounds<T: ArrowPrimitiveType<Native = i64>>(
    batch: &RecordBatch,
    column: &str,
) -> Result<RangeInclusive<i64>, ParquetError> {
    let values = batch
        .column_by_name(column)
        .and_then(|values| values.as_primitive_opt::<T>());
    let range = values.and_then(|values| Some(min(values)?..=max(values)?));
    range.ok_or_else(|| missing(column))
}

/// Extends `range` so that it contains `more`.
fn widen(range: &mut Option<RangeInclusive<i64>>, more: &RangeInclusive<i64>) {
    let (mut low, mut high) = (*more.start(), *more.end());
    if let Some(range) = range {
        low = low.min(*range.start());
        high = high.max(*range.end());
    }
    *range = Some(low..=high);
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
    fn a_copied_row_group_is_the_same() {
        let type_id = facts().lookup("Observation").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let (source, two) = (dir.path().join("one.parquet"), dir.path().join("two.parquet"));
        let batch = |range: std::ops::Range<i64>| {
            observations(range, |at| match at % 3 {
                0 => "{}".to_owned(),
                1 => format!(r#"{{"code":{{"coding":[{{"code":"c{at}"}},{{"display":"d"}}]}},"status":"final"}}"#),
                _ => format!(r#"{{"valueQuantity":{{"value":{at}.5}},"category":[],"note":[{{"text":"{at}"}}]}}"#),
            })
        };
        let batches = [batch(0..1500), batch(1500..1600), batch(1600..4000)];
        let union = union_schema(type_id, batches.iter().map(|batch| batch.schema_ref().as_ref())).unwrap();
        let schema = Layout::new(type_id).adopt(&union).unwrap().schema;
        let mut writer = FileWriter::create(&source, type_id, &schema, 4000, &Keys::none()).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
            writer.groups.end().unwrap();
        }
        let first = writer.finish().unwrap();

        let file = CheckedFile::open(&source, &Keys::none()).unwrap();
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let masked = file.metadata(&source, options.clone()).unwrap();
        let metadata = file
            .metadata(&source, options.with_encoding_stats_as_mask(false))
            .unwrap();
        let mut writer = FileWriter::create(&two, type_id, metadata.schema(), 4000, &Keys::none()).unwrap();
        assert!(!writer.copy_group((&source, &file), masked.metadata(), 0).unwrap());
        for group in 0..3 {
            assert!(writer.copy_group((&source, &file), metadata.metadata(), group).unwrap());
        }
        let second = writer.finish().unwrap();
        // The pages are the same bytes. The footers mean the same; the Parquet library does not copy deprecated bounds.
        let copy = CheckedFile::open(&two, &Keys::none()).unwrap();
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let copied = copy.metadata(&two, options.with_encoding_stats_as_mask(false)).unwrap();
        let (metadata, copied) = (metadata.metadata(), copied.metadata());
        assert!(metadata.row_groups() == copied.row_groups());
        assert!(metadata.column_index() == copied.column_index() && metadata.offset_index() == copied.offset_index());
        let chunks = metadata.row_groups().iter().flat_map(|group| group.columns());
        let end = chunks
            .map(|column| column.byte_range())
            .map(|(start, length)| start + length);
        let end = end.max().unwrap() as usize;
        let (one, two) = (std::fs::read(&source).unwrap(), std::fs::read(&two).unwrap());
        assert!(one[..end] == two[..end]);
        copy.check_pages().unwrap();
        let nulls = |written: &WrittenFile| -> Vec<(i32, u64)> {
            written.columns.iter().map(|column| (column.id, column.nulls)).collect()
        };
        assert_eq!(nulls(&first), nulls(&second));
        assert_eq!(
            (first.rows, first.owners, first.versions, first.last_updated),
            (second.rows, second.owners, second.versions, second.last_updated)
        );

        // A file with other columns is not copied.
        let schema = Layout::new(type_id).adopt(batches[0].schema_ref()).unwrap().schema;
        let other = dir.path().join("three.parquet");
        let narrow = schema
            .project(&(0..schema.fields().len() - 1).collect::<Vec<_>>())
            .unwrap();
        let mut writer = FileWriter::create(&other, type_id, &Arc::new(narrow), 4000, &Keys::none()).unwrap();
        assert!(!writer.copy_group((&source, &file), metadata, 0).unwrap());
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
