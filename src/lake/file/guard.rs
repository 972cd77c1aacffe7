//! Verifies the pages of a file before a caller gets them: by checksums in an unencrypted file, by decryption in a
//! sealed one.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;

use super::checksums::{Checksums, Tail};
use crate::lake::seal::{self, FileKey, Keys, SealedPages};

/// The way in which pages are verified.
#[derive(Debug)]
pub(in crate::lake) enum Guard {
    /// Pages are not verified, because the file has no checksums. An earlier version of this program wrote it.
    None,
    /// Checksums verify pages.
    Sums(Checksums),
    /// Pages are decrypted. Positions are those that the pages would have in an unencrypted file.
    Sealed(SealedPages),
}

/// An open file with its guard.
#[derive(Debug)]
pub(in crate::lake) struct Guarded {
    pub(in crate::lake) guard: Guard,
    /// The length of the file. For a sealed file, the length that it would have unencrypted.
    pub(in crate::lake) end: u64,
    /// The verified bytes after the pages. `None` for a sealed file, and for a file without checksums.
    pub(in crate::lake) tail: Option<Tail>,
    /// The key of a sealed file, and its footer as it would be in an unencrypted file. `None` for an unencrypted file.
    pub(in crate::lake) sealed: Option<(FileKey, Arc<ParquetMetaData>)>,
}

impl Guarded {
    /// Opens a file of `length` bytes and verifies the bytes after its pages.
    pub(in crate::lake) fn open(file: &File, length: u64, keys: &Keys) -> Result<Guarded, ParquetError> {
        Guarded::open_held(file, length, keys, false)
    }

    /// Opens a file as `open` does. With `is_held` it also accepts an unencrypted file in a sealed lake. An answer that
    /// began before the lake was sealed still reads such files.
    pub(in crate::lake) fn open_held(
        file: &File,
        length: u64,
        keys: &Keys,
        is_held: bool,
    ) -> Result<Guarded, ParquetError> {
        if let Some(open) = seal::open(file, length, keys, is_held)? {
            return Ok(Guarded {
                end: open.pages.end(),
                guard: Guard::Sealed(open.pages),
                tail: None,
                sealed: Some((open.key, Arc::new(open.metadata))),
            });
        }
        let tail = Tail::read(file, length)?;
        let guard = match &tail {
            Some(tail) => Guard::Sums(tail.pages()?),
            None => Guard::None,
        };
        Ok(Guarded {
            guard,
            end: length,
            tail,
            sealed: None,
        })
    }

    /// Returns the footer of a sealed file in the form that Arrow's readers expect. `None` for an unencrypted file.
    pub(in crate::lake) fn sealed_footer(
        &self,
        options: &ArrowReaderOptions,
    ) -> Option<Result<ArrowReaderMetadata, ParquetError>> {
        let (_, footer) = self.sealed.as_ref()?;
        Some(ArrowReaderMetadata::try_new(Arc::clone(footer), options.clone()))
    }
}

impl Guard {
    /// Returns the size of the guard in bytes.
    pub(in crate::lake) fn weight(&self) -> usize {
        match self {
            Guard::None => 0,
            Guard::Sums(sums) => sums.weight(),
            Guard::Sealed(pages) => pages.weight(),
        }
    }

    /// Whether reading a damaged page fails. `false` if pages are not verified.
    pub(in crate::lake) fn is_there(&self) -> bool {
        !matches!(self, Guard::None)
    }

    /// Returns the number of pages. 0 if pages are not verified.
    pub(in crate::lake) fn len(&self) -> usize {
        match self {
            Guard::None => 0,
            Guard::Sums(sums) => sums.len(),
            Guard::Sealed(pages) => pages.len(),
        }
    }

    /// Returns the position and the length of a page.
    pub(in crate::lake) fn page(&self, at: usize) -> (u64, usize) {
        match self {
            Guard::None => (0, 0),
            Guard::Sums(sums) => sums.page(at),
            Guard::Sealed(pages) => pages.page(at),
        }
    }

    /// Returns the index of the page that contains a byte.
    pub(in crate::lake) fn page_of(&self, byte: u64) -> Option<usize> {
        match self {
            Guard::None => None,
            Guard::Sums(sums) => sums.page_of(byte),
            Guard::Sealed(pages) => pages.page_of(byte),
        }
    }

    /// Returns `length` bytes from `start` on, verified or decrypted. Calls `read` to read from the file.
    pub(in crate::lake) fn read(
        &self,
        start: u64,
        length: usize,
        read: impl FnOnce(u64, usize) -> io::Result<Vec<u8>>,
    ) -> Result<Bytes, ParquetError> {
        match self {
            Guard::None => Ok(read(start, length)?.into()),
            Guard::Sums(sums) => sums.read(start, length, |start, length| Ok(read(start, length)?.into())),
            Guard::Sealed(pages) => pages.read(start, length, read),
        }
    }
}
