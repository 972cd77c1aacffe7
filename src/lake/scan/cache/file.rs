//! An open data file: its parsed footer with page indexes, and further indexes that are built on first use.
//!
//! A data file never changes, so none of these values becomes stale. The file `memory.rs` decides which open files stay
//! in memory. The module `visible` decides which rows a reader may see.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::datatypes::Fields;
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};

use super::super::error::ScanError;
use super::super::rows::clip::leaf_paths;
use super::super::visible::system_columns::SystemColumns;
use super::handles::Handles;
use super::id_index::IdIndex;
use crate::lake::file::{Guard, Guarded, Tail};

/// An open data file.
pub(in crate::lake::scan) struct OpenFile {
    pub(in crate::lake::scan) id: u64,
    serial: u64,
    path: Arc<Path>,
    handles: Arc<Handles>,
    /// The length of the file. For a sealed file, the length that it would have unencrypted.
    length: u64,
    arrow: ArrowReaderMetadata,
    /// Verifies or decrypts the pages when they are read.
    guard: Guard,
    groups: Vec<Group>,
    /// The dotted paths of the Parquet leaves.
    paths: Vec<String>,
    /// The compressed size of each leaf over all row groups, in bytes.
    sizes: Vec<u64>,
    /// The byte range of each column chunk with the index of its leaf, ascending. They tell which leaf a read belongs
    /// to.
    chunks: Vec<(Range<u64>, usize)>,
    /// The memory that this value takes, in bytes.
    weight: AtomicUsize,
}

/// The lengths of the shortest and the longest interval of a date in a row group, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lake::scan) struct Widths {
    pub(in crate::lake::scan) shortest: u64,
    pub(in crate::lake::scan) longest: u64,
}

/// A row group and the indexes built for it so far.
pub(in crate::lake::scan) struct Group {
    /// The position in the file of the group's first row.
    pub(in crate::lake::scan) first: u32,
    /// The number of rows.
    pub(in crate::lake::scan) rows: u32,
    bloom: OnceLock<Option<Sbbf>>,
    pub(super) ids: OnceLock<IdIndex>,
    pub(super) directory: OnceLock<SystemColumns>,
    /// The results that [`Group::widths`] returns, by leaf.
    widths: Mutex<Vec<(usize, Option<Widths>)>>,
}

impl Group {
    /// Returns the lengths of the intervals of a date in this row group. The leaf `start` has the starts of the
    /// intervals. `None` if they were not computed yet. `Some(None)` if they cannot be computed, for example because a
    /// date lacks a bound.
    pub(in crate::lake::scan) fn widths(&self, start: usize) -> Option<Option<Widths>> {
        let widths = self.widths.lock().unwrap_or_else(PoisonError::into_inner);
        widths
            .iter()
            .find(|(leaf, _)| *leaf == start)
            .map(|(_, widths)| *widths)
    }
}

impl OpenFile {
    /// Opens a file and reads its footer and page indexes.
    pub(in crate::lake::scan) fn open(id: u64, path: &Path, handles: &Arc<Handles>) -> Result<OpenFile, ScanError> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        let path: Arc<Path> = path.into();
        let io = |source| ScanError::Io {
            path: path.to_path_buf(),
            source,
        };
        let parquet = |source| ScanError::Parquet {
            path: path.to_path_buf(),
            source,
        };
        let file = handles.get(&path).map_err(io)?;
        let length = file.metadata().map_err(io)?.len();
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let is_held = handles.holds_in_clear(&path);
        let guarded = Guarded::open_held(&file, length, handles.keys(), is_held).map_err(parquet)?;
        let (sealed, length) = (guarded.sealed_footer(&options), guarded.end);
        let raw = RawFile {
            file: &file,
            length,
            tail: guarded.tail,
        };
        let arrow = sealed.unwrap_or_else(|| raw.metadata(options)).map_err(parquet)?;
        let guard = guarded.guard;
        let metadata = arrow.metadata().clone();
        let paths = leaf_paths(arrow.schema().fields());
        if paths.len() != metadata.file_metadata().schema_descr().num_columns() {
            return Err(ScanError::Missing {
                path: path.to_path_buf(),
                what: "plain nesting of structs and lists",
            });
        }
        let (groups, sizes, chunks) = survey(&metadata).map_err(parquet)?;
        // `memory_size` counts only the Parquet library's metadata. So add estimates of the Arrow schema, the guard,
        // and the paths, sizes and chunks.
        let schema = arrow.schema().fields().size() * 3 / 2;
        let beside = schema + guard.weight();
        let weight = metadata.memory_size() + beside + 3 * 64 * paths.len() + path.as_os_str().len() + 512;
        let weight = AtomicUsize::new(weight);
        let handles = handles.clone();
        Ok(OpenFile {
            id,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
            path,
            handles,
            length,
            arrow,
            guard,
            groups,
            paths,
            sizes,
            chunks,
            weight,
        })
    }

    /// Returns a number that no other open file in this process has. If the same file is opened again, it gets another
    /// number.
    pub(in crate::lake::scan) fn serial(&self) -> u64 {
        self.serial
    }

    pub(in crate::lake::scan) fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::lake::scan) fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.arrow.metadata()
    }

    pub(in crate::lake::scan) fn arrow(&self) -> &ArrowReaderMetadata {
        &self.arrow
    }

    /// Returns the file's own Arrow fields.
    pub(in crate::lake::scan) fn fields(&self) -> &Fields {
        self.arrow.schema().fields()
    }

    pub(in crate::lake::scan) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns the row group that has this row of the file, and the row's position in the group. `None` if the file has
    /// no such row.
    pub(in crate::lake::scan) fn locate(&self, row: u32) -> Option<(usize, u32)> {
        let group = self.groups.partition_point(|group| group.first <= row).checked_sub(1)?;
        let within = row - self.groups[group].first;
        (within < self.groups[group].rows).then_some((group, within))
    }

    pub(in crate::lake::scan) fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    pub(in crate::lake::scan) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the index of the Parquet leaf with this dotted path. `None` if the file lacks the leaf.
    pub(in crate::lake::scan) fn leaf(&self, path: &str) -> Option<usize> {
        self.paths.iter().position(|have| have == path)
    }

    /// Returns the locations of a leaf's pages in a row group. `None` if the file has no offset index.
    pub(in crate::lake::scan) fn pages(&self, group: usize, leaf: usize) -> Option<&[PageLocation]> {
        let index = self.metadata().offset_index()?;
        Some(index.get(group)?.get(leaf)?.page_locations().as_slice()).filter(|pages| !pages.is_empty())
    }

    pub(in crate::lake::scan) fn weight(&self) -> usize {
        self.weight.load(Ordering::Relaxed)
    }

    /// Returns the bloom filter of a row group's `id` column. The first call reads it from the file. `None` if the row
    /// group has none, as in sealed files.
    pub(in crate::lake::scan) fn bloom(&self, group: usize) -> Result<Option<&Sbbf>, ScanError> {
        let slot = &self.groups[group].bloom;
        if slot.get().is_none() {
            let leaf = self.require("id")?;
            let column = self.metadata().row_group(group).column(leaf);
            if column.bloom_filter_offset().is_none() {
                return Ok(None);
            }
            let file = self.handle().map_err(|source| ScanError::Io {
                path: self.path.to_path_buf(),
                source,
            })?;
            let raw = RawFile::new(&file, self.length).map_err(self.parquet())?;
            let bloom = raw.bloom(column).map_err(self.parquet())?;
            self.build(slot, bloom, |bloom| {
                bloom.as_ref().map_or(0, |bloom| bloom.num_blocks() * 32)
            });
        }
        Ok(slot.get().and_then(Option::as_ref))
    }

    /// Returns the row group's id index, if it was built.
    pub(in crate::lake::scan) fn ids_if_built(&self, group: usize) -> Option<&IdIndex> {
        self.groups[group].ids.get()
    }

    /// Whether the row group's system columns were read.
    pub(in crate::lake::scan) fn has_directory(&self, group: usize) -> bool {
        self.groups[group].directory.get().is_some()
    }

    /// Stores an index that was built, and adds its size to the weight. If two threads build the same index, the first
    /// result is stored.
    pub(super) fn build<T>(&self, slot: &OnceLock<T>, value: T, weigh: impl Fn(&T) -> usize) {
        let weight = weigh(&value);
        if slot.set(value).is_ok() {
            self.weight.fetch_add(weight, Ordering::Relaxed);
        }
    }

    /// Stores the lengths of the intervals of a date in a row group, which [`Group::widths`] returns. The leaf `start`
    /// has the starts of the intervals. `found` is `None` if the lengths cannot be computed.
    pub(in crate::lake::scan) fn keep_widths(&self, group: usize, start: usize, found: Option<Widths>) {
        let slot = &self.groups[group].widths;
        let mut widths = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if widths.iter().all(|(leaf, _)| *leaf != start) {
            widths.push((start, found));
            self.weight
                .fetch_add(size_of::<(usize, Option<Widths>)>(), Ordering::Relaxed);
        }
    }

    /// Returns the index of a leaf that every file must have. Fails if the file lacks the leaf.
    pub(in crate::lake::scan) fn require(&self, column: &'static str) -> Result<usize, ScanError> {
        self.leaf(column).ok_or_else(|| self.missing(column))
    }

    /// Makes the error that says that this file lacks a part that every file must have.
    pub(in crate::lake::scan) fn missing(&self, what: &'static str) -> ScanError {
        ScanError::Missing {
            path: self.path.to_path_buf(),
            what,
        }
    }

    /// Makes a function that adds the file's path to errors of the Parquet library, for `map_err`.
    pub(in crate::lake::scan) fn parquet<E: Into<ParquetError>>(&self) -> impl Fn(E) -> ScanError + '_ {
        |source| ScanError::Parquet {
            path: self.path.to_path_buf(),
            source: source.into(),
        }
    }

    /// Whether pages are verified or decrypted when they are read, so that reading a damaged page fails.
    pub(in crate::lake::scan) fn has_checksums(&self) -> bool {
        self.guard.is_there()
    }

    /// Reads a byte range of the pages. Verifies the pages by their checksums, or decrypts them.
    fn bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.guard.read(start, length, |start, length| {
            let mut buffer = vec![0; length];
            self.handle()?.read_exact_at(&mut buffer, start)?;
            Ok(buffer)
        })
    }

    fn handle(&self) -> io::Result<Arc<File>> {
        self.handles.get(&self.path)
    }
}

type Survey = (Vec<Group>, Vec<u64>, Vec<(Range<u64>, usize)>);

fn survey(metadata: &ParquetMetaData) -> Result<Survey, ParquetError> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let (mut groups, mut sizes, mut chunks) = (Vec::new(), vec![0; leaves], Vec::new());
    let mut first: u32 = 0;
    for group in metadata.row_groups() {
        let rows = u32::try_from(group.num_rows())?;
        groups.push(Group {
            first,
            rows,
            bloom: OnceLock::new(),
            ids: OnceLock::new(),
            directory: OnceLock::new(),
            widths: Mutex::default(),
        });
        first = first
            .checked_add(rows)
            .ok_or_else(|| ParquetError::General("too many rows".to_owned()))?;
        for (leaf, column) in group.columns().iter().enumerate() {
            let (start, length) = column.byte_range();
            sizes[leaf] += length;
            chunks.push((start..start + length, leaf));
        }
    }
    chunks.sort_by_key(|(range, _)| range.start);
    Ok((groups, sizes, chunks))
}

/// A file from which the Parquet library reads the footer and bloom filters.
struct RawFile<'a> {
    file: &'a File,
    length: u64,
    /// The verified bytes after the pages, if the file has checksums.
    tail: Option<Tail>,
}

impl RawFile<'_> {
    fn new(file: &File, length: u64) -> Result<RawFile<'_>, ParquetError> {
        let tail = Tail::read(file, length)?;
        Ok(RawFile { file, length, tail })
    }

    fn metadata(&self, options: ArrowReaderOptions) -> Result<ArrowReaderMetadata, ParquetError> {
        ArrowReaderMetadata::load(self, options)
    }

    fn bloom(&self, column: &parquet::file::metadata::ColumnChunkMetaData) -> Result<Option<Sbbf>, ParquetError> {
        Sbbf::read_from_column_chunk(column, self)
    }
}

impl Length for RawFile<'_> {
    fn len(&self) -> u64 {
        self.length
    }
}

impl<'a> ChunkReader for RawFile<'a> {
    type T = io::Take<bytes::buf::Reader<Bytes>>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        use bytes::Buf;
        let length = self.length.saturating_sub(start).min(64 * 1024);
        Ok(self.get_bytes(start, length as usize)?.reader().take(length))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.saturating_add(length as u64) > self.length {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie outside the file"
            )));
        }
        if let Some(tail) = &self.tail
            && let Some(from) = start.checked_sub(tail.start)
        {
            return Ok(tail.bytes.slice(from as usize..from as usize + length));
        }
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}

/// A file from which the Parquet library reads columns. If `read` is given, counts there how many bytes of each leaf
/// are read.
pub(in crate::lake::scan) struct CountedFile {
    file: Arc<OpenFile>,
    read: Option<Arc<ReadBytes>>,
}

/// The number of bytes read from one file, by leaf.
pub(in crate::lake::scan) struct ReadBytes(Vec<AtomicU64>);

impl ReadBytes {
    pub(in crate::lake::scan) fn new(file: &OpenFile) -> Arc<ReadBytes> {
        Arc::new(ReadBytes(file.paths.iter().map(|_| AtomicU64::new(0)).collect()))
    }

    /// Returns the leaves from which bytes were read, each with the number of bytes.
    pub(in crate::lake::scan) fn by_leaf<'a>(&'a self, file: &'a OpenFile) -> impl Iterator<Item = (&'a str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        file.paths
            .iter()
            .map(String::as_str)
            .zip(counts)
            .filter(|(_, count)| *count > 0)
    }
}

impl CountedFile {
    pub(in crate::lake::scan) fn new(file: &Arc<OpenFile>, read: &Arc<ReadBytes>) -> CountedFile {
        CountedFile {
            file: file.clone(),
            read: Some(read.clone()),
        }
    }

    /// Makes a reader that counts nothing, for reads of a page or two.
    pub(in crate::lake::scan) fn uncounted(file: &Arc<OpenFile>) -> CountedFile {
        CountedFile {
            file: file.clone(),
            read: None,
        }
    }

    fn count(&self, start: u64, length: u64) {
        let Some(read) = &self.read else { return };
        let at = self.file.chunks.partition_point(|(range, _)| range.start <= start);
        if let Some((range, leaf)) = at.checked_sub(1).and_then(|at| self.file.chunks.get(at))
            && range.contains(&start)
        {
            read.0[*leaf].fetch_add(length, Ordering::Relaxed);
        }
    }
}

impl Length for CountedFile {
    fn len(&self) -> u64 {
        self.file.length
    }
}

impl ChunkReader for CountedFile {
    type T = io::BufReader<SequentialRead>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let reader = SequentialRead {
            file: self.file.clone(),
            at: start,
        };
        // The library reads page headers this way if a file has no page index. Such a file has no checksums, so only a
        // sealed file is verified here. The headers are small and not counted.
        Ok(io::BufReader::with_capacity(1024, reader))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if start.saturating_add(length as u64) > self.file.length {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie outside the file"
            )));
        }
        self.count(start, length as u64);
        self.file.bytes(start, length)
    }
}

/// A sequential reader of a file that starts at a position.
pub(in crate::lake::scan) struct SequentialRead {
    file: Arc<OpenFile>,
    at: u64,
}

impl Read for SequentialRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &self.file.guard {
            Guard::Sealed(_) => {
                let left = self.file.length.saturating_sub(self.at);
                let length = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                let bytes = self.file.bytes(self.at, length).map_err(io::Error::other)?;
                buffer[..length].copy_from_slice(&bytes);
                length
            }
            _ => self.file.handle()?.read_at(buffer, self.at)?,
        };
        self.at += read as u64;
        Ok(read)
    }
}
