//! Tests that read sealed files, which the Parquet library wrote, through their pages.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::basic::Compression;
use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use proptest::prelude::*;

use super::super::{FileKey, Kek, KeyStore, Keys, OpenSealed, encryption, open};
use crate::lake::error::LakeError;
use crate::lake::file::CheckedFile;

/// A folder with a keys database and a file. `key` has sealed the file.
struct Sealed {
    dir: tempfile::TempDir,
    keys: Keys,
    key: FileKey,
    rows: RecordBatch,
}

impl Sealed {
    fn path(&self) -> PathBuf {
        self.dir.path().join("file.parquet")
    }

    fn open(&self) -> OpenSealed {
        let file = File::open(self.path()).unwrap();
        open(&file, file.metadata().unwrap().len(), &self.keys, false)
            .unwrap()
            .unwrap()
    }

    fn read(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        let file = File::open(self.path()).unwrap();
        self.open().pages.read(start, length, |start, length| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, start)?;
            Ok(bytes)
        })
    }
}

/// Makes a sealed file with this many rows. Its columns are texts with nulls and a dictionary, numbers, and texts
/// without statistics.
fn sealed(rows: usize, rows_a_group: usize, rows_a_page: usize) -> Sealed {
    let dir = tempfile::tempdir().unwrap();
    let keys = Keys::of(KeyStore::create(dir.path(), Kek::random().unwrap()).unwrap());
    let key = keys.make().unwrap().unwrap();
    let schema = Arc::new(Schema::new(vec![
        Field::new("word", DataType::Utf8, true),
        Field::new("number", DataType::Int64, false),
        Field::new("text", DataType::Utf8, false),
    ]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter(
            (0..rows).map(|at| (at % 3 != 0).then(|| format!("word {}", at % 50))),
        )),
        Arc::new(Int64Array::from_iter_values((0..rows).map(|at| at as i64))),
        Arc::new(StringArray::from_iter_values(
            (0..rows).map(|at| format!("text {at} of many, {}", at * at)),
        )),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_column_compression("text".into(), Compression::ZSTD(Default::default()))
        .set_column_dictionary_enabled("text".into(), false)
        .set_column_statistics_enabled("text".into(), EnabledStatistics::None)
        .set_max_row_group_row_count(Some(rows_a_group))
        .set_data_page_row_count_limit(rows_a_page)
        .set_write_batch_size(rows_a_page)
        .with_file_encryption_properties(encryption(&key).unwrap())
        .build();
    let file = File::create(dir.path().join("file.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    keys.keep(std::slice::from_ref(&key)).unwrap();
    Sealed {
        dir,
        keys,
        key,
        rows: batch,
    }
}

/// Reads all rows, or those of a selection, as merging and erasing do.
fn rows(path: &Path, keys: &Keys, selection: Option<RowSelection>) -> Result<RecordBatch, LakeError> {
    let mut builder = CheckedFile::open(path, keys)?.rows(path)?;
    if let Some(selection) = selection {
        builder = builder.with_row_selection(selection);
    }
    let schema = builder.schema().clone();
    let reader = builder
        .with_batch_size(1_000)
        .build()
        .map_err(LakeError::parquet("read", path))?;
    let batches: Result<Vec<RecordBatch>, _> = reader.collect();
    let batches = batches.map_err(LakeError::parquet("read", path))?;
    concat_batches(&schema, &batches).map_err(LakeError::parquet("read", path))
}

#[test]
fn a_sealed_file_has_the_rows_that_were_written() {
    let it = sealed(100_000, 32_768, 1_024);
    let read = rows(&it.path(), &it.keys, None).unwrap();
    assert_eq!(read.columns(), it.rows.columns());
    let opened = it.open();
    assert_eq!(opened.metadata.num_row_groups(), 4);
    // Each column has 98 data pages, and the first two columns also have a dictionary page in each row group.
    assert!(opened.pages.len() > 3 * 98, "{}", opened.pages.len());
    assert!(CheckedFile::open(&it.path(), &it.keys).unwrap().check_pages().unwrap() == opened.pages.len() as u64);
}

#[test]
fn single_rows_are_read_from_their_pages() {
    let it = sealed(100_000, 32_768, 1_024);
    let selection = [(70_001, 3), (10_000, 5)];
    let selectors = selection
        .iter()
        .flat_map(|(skip, take)| [RowSelector::skip(*skip), RowSelector::select(*take)]);
    let read = rows(&it.path(), &it.keys, Some(selectors.collect::<Vec<_>>().into())).unwrap();
    let places: Vec<u32> = (70_001..70_004).chain(80_004..80_009).collect();
    assert_eq!(read, take_record_batch(&it.rows, &UInt32Array::from(places)).unwrap());
}

#[test]
fn the_parquet_library_reads_it_with_the_key_alone() {
    let it = sealed(5_000, 2_000, 500);
    let decryption = FileDecryptionProperties::builder(it.key.secret().to_vec())
        .build()
        .unwrap();
    let options = ArrowReaderOptions::new().with_file_decryption_properties(decryption);
    let file = File::open(it.path()).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    assert_eq!(concat_batches(&schema, &batches).unwrap().columns(), it.rows.columns());
    assert!(ParquetRecordBatchReaderBuilder::try_new(File::open(it.path()).unwrap()).is_err());
}

#[test]
fn nothing_of_it_stands_in_clear() {
    let it = sealed(2_000, 1_000, 100);
    let bytes = std::fs::read(it.path()).unwrap();
    for text in ["word", "number", "text", "of many"] {
        assert!(memchr::memmem::find(&bytes, text.as_bytes()).is_none(), "{text}");
    }
    let id = it.key.id().to_string();
    assert!(memchr::memmem::find(&bytes, id.as_bytes()).is_some());
    assert!(memchr::memmem::find(&bytes, it.key.secret()).is_none());
}

#[test]
fn only_its_own_key_opens_it() {
    let it = sealed(500, 500, 100);
    let other = sealed(500, 500, 100);
    let unknown = rows(&it.path(), &other.keys, None).unwrap_err().to_string();
    assert!(unknown.contains(&it.key.id().to_string()), "{unknown}");
    let open_lake = rows(&it.path(), &Keys::none(), None).unwrap_err().to_string();
    assert!(open_lake.ends_with("it is sealed, and the lake is not"), "{open_lake}");
    it.keys.destroy(&[it.key.id()]).unwrap();
    // The key is destroyed in the database, but as long as `it.key` holds it, the file can be read. After that nobody
    // can read the file.
    assert!(rows(&it.path(), &it.keys, None).is_ok());
    let path = it.path();
    drop(it.key);
    assert!(rows(&path, &it.keys, None).is_err());
}

#[test]
fn a_file_in_clear_is_refused_in_a_sealed_lake() {
    let it = sealed(10, 10, 10);
    let path = it.dir.path().join("clear.parquet");
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), it.rows.schema(), None).unwrap();
    writer.write(&it.rows).unwrap();
    writer.close().unwrap();
    let refused = rows(&path, &it.keys, None).unwrap_err().to_string();
    assert!(refused.ends_with("it does not end as a sealed file does"), "{refused}");
    assert_eq!(rows(&path, &Keys::none(), None).unwrap().columns(), it.rows.columns());
}

#[test]
fn every_changed_byte_shows() {
    let it = sealed(60, 30, 10);
    let whole = std::fs::read(it.path()).unwrap();
    let pages_end = it
        .open()
        .pages
        .in_file()
        .map(|(start, length)| start as usize + length)
        .max()
        .unwrap();
    let path = it.dir.path().join("changed.parquet");
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        std::fs::write(&path, changed).unwrap();
        let checked = CheckedFile::open(&path, &it.keys).and_then(|file| {
            file.check_pages().map_err(LakeError::parquet("read", &path))?;
            rows(&path, &it.keys, None)
        });
        // Readers take the length of a page index from the footer, so they do not notice a change of the length in
        // front of the index.
        let is_unread = at >= pages_end && checked.as_ref().is_ok_and(|rows| rows.columns() == it.rows.columns());
        assert!(checked.is_err() || is_unread, "byte {at} of {}", whole.len());
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused() {
    let it = sealed(60, 30, 10);
    let whole = std::fs::read(it.path()).unwrap();
    let path = it.dir.path().join("cut.parquet");
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(rows(&path, &it.keys, None).is_err(), "{end} bytes");
    }
}

#[test]
fn pages_cannot_change_places() {
    let it = sealed(2_000, 1_000, 100);
    let whole = std::fs::read(it.path()).unwrap();
    let pages: Vec<(u64, usize)> = it.open().pages.in_file().collect();
    // Find two pages that have the same length in the sealed file.
    let pair = pages.iter().enumerate().find_map(|(at, one)| {
        let other = pages[at + 1..].iter().find(|other| other.1 == one.1)?;
        Some((*one, *other))
    });
    let ((one, length), (other, _)) = pair.unwrap();
    let mut changed = whole.clone();
    changed[one as usize..one as usize + length].copy_from_slice(&whole[other as usize..other as usize + length]);
    let path = it.dir.path().join("changed.parquet");
    std::fs::write(&path, changed).unwrap();
    assert!(rows(&path, &it.keys, None).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_part_is_that_part_of_the_whole(places in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40_000), 8)) {
        thread_local!(static FILE: Sealed = sealed(6_000, 2_500, 300));
        FILE.with(|it| {
            let end = it.open().pages.end();
            let whole = it.read(4, end as usize - 4).unwrap();
            for (start, length) in places {
                let start = 4 + start.index(whole.len()) as u64;
                let length = length.min((end - start) as usize);
                let from = (start - 4) as usize;
                prop_assert_eq!(&it.read(start, length).unwrap()[..], &whole[from..from + length]);
            }
            prop_assert!(it.read(end, 1).is_err() && it.read(0, 8).is_err() && it.read(4, end as usize).is_err());
            Ok(())
        })?;
    }
}
