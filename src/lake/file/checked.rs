//! Reads all or most of a Parquet file, for merging, erasing and checking. Verifies all bytes that it reads: in an
//! unencrypted file by checksums, in a sealed file by decryption. A file without checksums is read unverified.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::checksums::Checksums;
use super::guard::{Guard, Guarded};
use crate::lake::error::LakeError;
use crate::lake::seal::{FileKey, Keys, SEALED_MAGIC};
use crate::private;

/// The first bytes of an unencrypted file.
const MAGIC: &[u8; 4] = b"PAR1";
/// When all pages are verified, small pages are read together. This is the maximum size of such a read in bytes.
const READ_AT_ONCE: usize = 1 << 20;

/// An open file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CheckedFile(Arc<Open>);

#[derive(Debug)]
struct Open {
    file: File,
    guarded: Guarded,
    /// The last page that was read: its index and its bytes. They are kept because the Parquet library first reads the
    /// header of a page and then its data.
    last: Mutex<Option<(usize, Bytes)>>,
}

impl CheckedFile {
    /// Opens the file and verifies the bytes after its pages.
    pub fn open(path: &Path, keys: &Keys) -> Result<CheckedFile, LakeError> {
        let file = private::open(path).map_err(LakeError::io("read", path))?;
        let length = file.metadata().map_err(LakeError::io("read", path))?.len();
        let guarded = Guarded::open(&file, length, keys).map_err(LakeError::parquet("read", path))?;
        Ok(CheckedFile(Arc::new(Open {
            file,
            guarded,
            last: Mutex::default(),
        })))
    }

    /// Returns the footer, with the page indexes and other parts that `options` ask for.
    pub fn metadata(&self, path: &Path, options: ArrowReaderOptions) -> Result<ArrowReaderMetadata, LakeError> {
        let sealed = self.0.guarded.sealed_footer(&options);
        let metadata = sealed.unwrap_or_else(|| ArrowReaderMetadata::load(self, options));
        metadata.map_err(LakeError::parquet("read", path))
    }

    /// Returns a builder for a reader of all rows. The caller may select columns and rows.
    pub(crate) fn rows(&self, path: &Path) -> Result<ParquetRecordBatchReaderBuilder<CheckedFile>, LakeError> {
        let metadata = self.metadata(path, ArrowReaderOptions::new())?;
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.clone(),
            metadata,
        ))
    }

    /// Returns the key that seals the file. `None` if the file is unencrypted.
    pub(in crate::lake) fn key(&self) -> Option<&FileKey> {
        self.0.guarded.sealed.as_ref().map(|(key, _)| key)
    }

    /// Returns the checksums of the pages. `None` if the file is sealed or has none.
    pub(super) fn checksums(&self) -> Option<&Checksums> {
        match &self.0.guarded.guard {
            Guard::Sums(sums) => Some(sums),
            _ => None,
        }
    }

    /// Whether reading a damaged page fails. `false` for an unencrypted file without checksums.
    pub fn has_checksums(&self) -> bool {
        self.0.guarded.guard.is_there()
    }

    /// Verifies the first bytes and every page. Returns the number of pages.
    pub(in crate::lake) fn check_pages(&self) -> Result<u64, ParquetError> {
        let magic = match &self.0.guarded.guard {
            Guard::Sealed(_) => SEALED_MAGIC,
            _ => MAGIC,
        };
        if self.0.plain(0, magic.len())? != magic {
            return Err(ParquetError::General(
                "it does not begin as a Parquet file does".to_owned(),
            ));
        }
        let pages = &self.0.guarded.guard;
        let mut at = 0;
        while at < pages.len() {
            let (start, mut length) = pages.page(at);
            at += 1;
            // Read small pages together, because one call for each would cost more than the comparison.
            while at < pages.len() && length + pages.page(at).1 <= READ_AT_ONCE {
                length += pages.page(at).1;
                at += 1;
            }
            pages.read(start, length, |start, length| self.0.plain(start, length))?;
        }
        Ok(pages.len() as u64)
    }
}

impl Open {
    fn plain(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer)
    }

    /// Returns the bytes from `start` to the file's end. `None` if `start` is not after the pages, or if the file has
    /// no checksums.
    fn tail_from(&self, start: u64) -> Option<Bytes> {
        let tail = self.guarded.tail.as_ref()?;
        let from = start.checked_sub(tail.start)?;
        Some(tail.bytes.slice((from as usize).min(tail.bytes.len())..))
    }

    /// Returns the rest of the page that contains the byte at `start`, from that byte on.
    fn page_from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let pages = &self.guarded.guard;
        let at = pages.page_of(start);
        let at = at.ok_or_else(|| ParquetError::EOF(format!("byte {start} lies in no page")))?;
        let (from, length) = pages.page(at);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let page = match last.take() {
            Some((known, page)) if known == at => page,
            _ => pages.read(from, length, |start, length| self.plain(start, length))?,
        };
        *last = Some((at, page.clone()));
        Ok(page.slice((start - from) as usize..))
    }
}

impl Length for CheckedFile {
    fn len(&self) -> u64 {
        self.0.guarded.end
    }
}

impl ChunkReader for CheckedFile {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        if let Some(bytes) = self.0.tail_from(start) {
            return Ok(Box::new(bytes.reader()));
        }
        match self.0.guarded.guard {
            Guard::None => {
                let from = ReadFrom(Arc::clone(&self.0), start);
                Ok(Box::new(BufReader::with_capacity(1024, from)))
            }
            _ => Ok(Box::new(self.0.page_from(start)?.reader())),
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.len());
        end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start} lie outside the file")))?;
        if let Some(bytes) = self.0.tail_from(start) {
            return Ok(bytes.slice(..length));
        }
        let pages = &self.0.guarded.guard;
        let plain = |start, length| self.0.plain(start, length);
        if !pages.is_there() {
            return Ok(plain(start, length)?.into());
        }
        match self.0.page_from(start)? {
            page if length <= page.len() => Ok(page.slice(..length)),
            _ => pages.read(start, length, plain),
        }
    }
}

/// A reader of a file without checksums, from a position on.
struct ReadFrom(Arc<Open>, u64);

impl Read for ReadFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.file.read_at(buffer, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}
