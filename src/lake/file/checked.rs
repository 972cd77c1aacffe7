//! A Parquet file that is read from its beginning to its end or nearly so, as merging, erasing and importing do: whatever is
//! read of it is compared with its checksums.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Buf, Bytes};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::checksums::{Checksums, Tail};
use crate::lake::error::LakeError;

/// What stands before the first page.
const MAGIC: &[u8] = b"PAR1";
/// Bytes of pages that are read in one go where all of them are.
const READ_AT_ONCE: usize = 1 << 20;

/// An open file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CheckedFile(Arc<Open>);

#[derive(Debug)]
struct Open {
    file: File,
    length: u64,
    checked: Option<(Tail, Checksums)>,
    /// The page read last, with its place: the Parquet library asks for a page's header and then for its data.
    last: Mutex<Option<(usize, Bytes)>>,
}

impl CheckedFile {
    /// Opens the file and compares what stands behind its pages.
    pub fn open(path: &Path) -> Result<CheckedFile, LakeError> {
        let file = File::open(path).map_err(LakeError::io("read", path))?;
        let length = file.metadata().map_err(LakeError::io("read", path))?.len();
        let checked = Tail::read(&file, length).and_then(|tail| {
            let with_pages = |tail: Tail| Ok((tail.pages()?, tail)).map(|(pages, tail)| (tail, pages));
            tail.map(with_pages).transpose()
        });
        Ok(CheckedFile(Arc::new(Open {
            file,
            length,
            checked: checked.map_err(LakeError::parquet("read", path))?,
            last: Mutex::default(),
        })))
    }

    /// The footer.
    pub fn metadata(&self, path: &Path, options: ArrowReaderOptions) -> Result<ArrowReaderMetadata, LakeError> {
        ArrowReaderMetadata::load(self, options).map_err(LakeError::parquet("read", path))
    }

    /// Whether there is anything to compare with.
    pub fn has_checksums(&self) -> bool {
        self.0.checked.is_some()
    }

    /// All of it.
    pub(in crate::lake) fn read_all(&self) -> Result<Bytes, ParquetError> {
        match &self.0.checked {
            Some((tail, _)) if tail.start == 0 => Ok(tail.bytes.clone()),
            _ => Ok(self.0.plain(0, self.0.length as usize)?),
        }
    }

    /// Compares every page; gives how many there are.
    pub(in crate::lake) fn check_pages(&self) -> Result<u64, ParquetError> {
        if &*self.0.plain(0, MAGIC.len())? != MAGIC {
            return Err(ParquetError::General(
                "it does not begin as a Parquet file does".to_owned(),
            ));
        }
        let Some((_, pages)) = &self.0.checked else {
            return Ok(0);
        };
        let mut at = 0;
        while at < pages.len() {
            let (start, mut length) = pages.page(at);
            at += 1;
            // Small pages are read together: a call for each would cost more than comparing them.
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
    fn plain(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }

    /// The page in which a byte lies, from that byte on.
    fn page_from(&self, pages: &Checksums, start: u64) -> Result<Bytes, ParquetError> {
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
        self.0.length
    }
}

impl ChunkReader for CheckedFile {
    type T = Box<dyn Read + Send>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let Some((tail, pages)) = &self.0.checked else {
            let from = ReadFrom(Arc::clone(&self.0), start);
            return Ok(Box::new(BufReader::with_capacity(1024, from)));
        };
        let bytes = match start.checked_sub(tail.start) {
            Some(from) => tail.bytes.slice((from as usize).min(tail.bytes.len())..),
            None => self.0.page_from(pages, start)?,
        };
        Ok(Box::new(bytes.reader()))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.0.length);
        let end = end.ok_or_else(|| ParquetError::EOF(format!("{length} bytes at {start} lie outside the file")))?;
        let Some((tail, pages)) = &self.0.checked else {
            return Ok(self.0.plain(start, length)?);
        };
        if let Some(from) = start.checked_sub(tail.start) {
            return Ok(tail.bytes.slice(from as usize..(end - tail.start) as usize));
        }
        match self.0.page_from(pages, start)? {
            page if length <= page.len() => Ok(page.slice(..length)),
            _ => pages.read(start, length, |start, length| self.0.plain(start, length)),
        }
    }
}

/// A file without checksums, read from a place on.
struct ReadFrom(Arc<Open>, u64);

impl Read for ReadFrom {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.file.read_at(buffer, self.1)?;
        self.1 += read as u64;
        Ok(read)
    }
}
