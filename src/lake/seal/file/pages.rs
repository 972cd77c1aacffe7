//! Decrypts single pages of a sealed file. Such a file is encrypted by Parquet Modular Encryption (Parquet format,
//! `Encryption.md`), with one key for the whole file.
//!
//! A page consists of two modules, its header and its data. Around the content of a module are its length, a nonce and
//! a tag. [`SealedPages`] knows the positions of the modules and the data that authenticate them. It presents a *clear
//! file*, in which the decrypted pages follow each other without lengths, nonces and tags. The footer that
//! [`SealedPages::new`] returns has the positions in the clear file. So the same readers work on unencrypted and on
//! sealed files.

use std::io;
use std::ops::Range;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

/// The offset of the first page, which follows Parquet's magic number.
const FIRST_PAGE: u64 = 4;
/// The number of bytes of a module's length, which comes first in the module.
const LENGTH: usize = 4;
const NONCE: usize = 12;
const TAG: usize = 16;
/// The number of bytes around a module's content.
const AROUND: usize = LENGTH + NONCE + TAG;
/// The number of bytes around the contents of a page's two modules.
const AROUND_PAGE: u64 = 2 * AROUND as u64;

/// The pages of a sealed file.
#[derive(Debug)]
pub(in crate::lake) struct SealedPages {
    key: LessSafeKey,
    /// The file's part of each module's additional authenticated data (`aad_file_unique`).
    unique: Box<[u8]>,
    pages: Box<[SealedPage]>,
    /// The end of the last page in the clear file.
    end: u64,
}

/// A page, with its positions in both files. The row group, the column and the ordinal are its place, which is part of
/// the additional authenticated data.
#[derive(Clone, Copy, Debug)]
struct SealedPage {
    /// The start of the page in the clear file.
    clear: u64,
    /// The start of the page in the sealed file.
    sealed: u64,
    /// The number of bytes in the sealed file.
    length: u32,
    group: i16,
    column: i16,
    /// The number of the data page in its column chunk. `None` for a dictionary page.
    ordinal: Option<i16>,
}

/// The kinds of modules (Parquet format, `Encryption.md`, section 4.4.2).
#[derive(Clone, Copy)]
enum Module {
    DataPage = 2,
    DictionaryPage = 3,
    DataPageHeader = 4,
    DictionaryPageHeader = 5,
}

impl SealedPages {
    /// Returns the pages of a file, and the footer of the clear file. `metadata` is the decrypted footer with its page
    /// indexes. `unique` is the file's part of each module's additional authenticated data.
    pub(in crate::lake) fn new(
        key: &[u8; 32],
        unique: &[u8],
        metadata: ParquetMetaData,
    ) -> Result<(SealedPages, ParquetMetaData), ParquetError> {
        let key = UnboundKey::new(&AES_256_GCM, key).map_err(|_| damaged("its key has another length"))?;
        let mut survey = Survey {
            pages: Vec::new(),
            clear: FIRST_PAGE,
            sealed: FIRST_PAGE,
        };
        let of_file = metadata.file_metadata().clone();
        let mut metadata = metadata.into_builder();
        let columns = metadata.take_column_index();
        let indexes = metadata
            .take_offset_index()
            .ok_or_else(|| damaged("it has no page index"))?;
        let groups = metadata.take_row_groups();
        if groups.len() != indexes.len() {
            return Err(damaged("its page index is too short"));
        }
        let (mut clear, mut offsets) = (Vec::with_capacity(groups.len()), Vec::with_capacity(groups.len()));
        for (at, (group, indexes)) in groups.into_iter().zip(indexes).enumerate() {
            let (group, of_group) = survey.group(i16::try_from(at)?, group, indexes)?;
            clear.push(group);
            offsets.push(of_group);
        }
        // Use a new builder. The builder of the decrypted footer has the decryption properties, so readers would
        // decrypt again.
        let clear = ParquetMetaDataBuilder::new(of_file)
            .set_row_groups(clear)
            .set_column_index(columns)
            .set_offset_index(Some(offsets))
            .build();
        let pages = SealedPages {
            key: LessSafeKey::new(key),
            unique: unique.into(),
            pages: survey.pages.into(),
            end: survey.clear,
        };
        Ok((pages, clear))
    }

    /// Returns the size in bytes.
    pub(in crate::lake) fn weight(&self) -> usize {
        size_of_val(&*self.pages) + self.unique.len() + size_of::<LessSafeKey>()
    }

    /// Returns the start and the length of each page in the sealed file.
    #[cfg(test)]
    pub(in crate::lake::seal) fn in_file(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.pages.iter().map(|page| (page.sealed, page.length as usize))
    }

    /// Returns the end of the last page in the clear file.
    pub(in crate::lake) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of pages.
    pub(in crate::lake) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Returns the start and the length of a page in the clear file.
    pub(in crate::lake) fn page(&self, at: usize) -> (u64, usize) {
        let page = &self.pages[at];
        (page.clear, page.length as usize - AROUND_PAGE as usize)
    }

    /// Returns the index of the page that has this byte of the clear file. `None` if no page has it.
    pub(in crate::lake) fn page_of(&self, byte: u64) -> Option<usize> {
        let at = self.pages.partition_point(|page| page.clear <= byte).checked_sub(1)?;
        (byte < self.end).then_some(at)
    }

    /// Returns `length` bytes of the clear file from `start` on. Calls `read` once, with the start and the length of
    /// the sealed pages that have these bytes.
    pub(in crate::lake) fn read(
        &self,
        start: u64,
        length: usize,
        read: impl FnOnce(u64, usize) -> io::Result<Vec<u8>>,
    ) -> Result<Bytes, ParquetError> {
        let outside = || ParquetError::EOF(format!("{length} bytes at {start} lie in no page"));
        let end = start
            .checked_add(length as u64)
            .filter(|end| *end <= self.end)
            .ok_or_else(outside)?;
        let first = self.page_of(start).ok_or_else(outside)?;
        let last = self.page_of(end.saturating_sub(1).max(start)).ok_or_else(outside)?;
        let pages = &self.pages[first..=last];
        let (from, until) = (self.pages[first], self.pages[last]);
        let mut bytes = read(
            from.sealed,
            (until.sealed - from.sealed) as usize + until.length as usize,
        )?;
        // Decrypt each page in place, and move the headers and the data together. The data of the first page stay where
        // they are. The header of the first page moves to just before them. All later parts move to the end of what is
        // already there.
        let (mut begin, mut filled) = (0, None);
        for page in pages {
            let at = (page.sealed - from.sealed) as usize;
            let sealed = bytes
                .get_mut(at..at + page.length as usize)
                .ok_or_else(|| self.differs(page))?;
            let (header, data) = self.open(page, sealed)?;
            let (header, data) = (at + header.start..at + header.end, at + data.start..at + data.end);
            filled = Some(match filled {
                None => {
                    begin = data.start - header.len();
                    bytes.copy_within(header, begin);
                    data.end
                }
                Some(to) => {
                    let behind = to + header.len();
                    bytes.copy_within(header, to);
                    let length = data.len();
                    bytes.copy_within(data, behind);
                    behind + length
                }
            });
        }
        let begin = begin + (start - from.clear) as usize;
        Ok(Bytes::from(bytes).slice(begin..begin + length))
    }

    /// Decrypts a page in place. Returns the positions of its header and its data in `sealed`.
    fn open(&self, page: &SealedPage, sealed: &mut [u8]) -> Result<(Range<usize>, Range<usize>), ParquetError> {
        let (header, data) = match page.ordinal {
            Some(_) => (Module::DataPageHeader, Module::DataPage),
            None => (Module::DictionaryPageHeader, Module::DictionaryPage),
        };
        let header = self.module(page, header, sealed, 0)?;
        let data = self.module(page, data, sealed, header.end + TAG)?;
        if data.end + TAG == sealed.len() {
            Ok((header, data))
        } else {
            Err(self.differs(page))
        }
    }

    /// Decrypts the module at a position of a page in place. Returns the position of its content.
    fn module(
        &self,
        page: &SealedPage,
        module: Module,
        sealed: &mut [u8],
        at: usize,
    ) -> Result<Range<usize>, ParquetError> {
        let differs = || self.differs(page);
        let rest = sealed.get_mut(at..).ok_or_else(differs)?;
        let (length, rest) = rest.split_first_chunk_mut::<LENGTH>().ok_or_else(differs)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (inside, _) = rest.split_at_mut_checked(length).ok_or_else(differs)?;
        let (nonce, content) = inside.split_first_chunk_mut::<NONCE>().ok_or_else(differs)?;
        let aad = Aad::from(self.place(page, module));
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let opened = self.key.open_in_place(nonce, aad, content).map_err(|_| differs())?;
        let begin = at + LENGTH + NONCE;
        Ok(begin..begin + opened.len())
    }

    /// Returns the additional authenticated data of a module: the file's part, and the module's place in the file.
    fn place(&self, page: &SealedPage, module: Module) -> Vec<u8> {
        let mut place = Vec::with_capacity(self.unique.len() + 7);
        place.extend_from_slice(&self.unique);
        place.push(module as u8);
        place.extend_from_slice(&page.group.to_le_bytes());
        place.extend_from_slice(&page.column.to_le_bytes());
        if let Some(ordinal) = page.ordinal {
            place.extend_from_slice(&ordinal.to_le_bytes());
        }
        place
    }

    fn differs(&self, page: &SealedPage) -> ParquetError {
        let at = page.sealed;
        ParquetError::General(format!(
            "the page at byte {at} cannot be opened: it is damaged, or another key sealed it"
        ))
    }
}

/// Collects a file's pages, which must follow each other without gaps.
struct Survey {
    pages: Vec<SealedPage>,
    /// The start of the next page in the clear file. `sealed` is its start in the sealed file.
    clear: u64,
    sealed: u64,
}

impl Survey {
    fn group(
        &mut self,
        at: i16,
        group: RowGroupMetaData,
        indexes: Vec<OffsetIndexMetaData>,
    ) -> Result<(RowGroupMetaData, Vec<OffsetIndexMetaData>), ParquetError> {
        let start = self.clear;
        let mut group = group.into_builder();
        let chunks = group.take_columns();
        if chunks.len() != indexes.len() {
            return Err(damaged("its page index is too short"));
        }
        let (mut columns, mut offsets) = (Vec::with_capacity(chunks.len()), Vec::with_capacity(chunks.len()));
        for (column, (chunk, index)) in chunks.into_iter().zip(indexes).enumerate() {
            let (chunk, index) = self.chunk((at, i16::try_from(column)?), chunk, index)?;
            columns.push(chunk);
            offsets.push(index);
        }
        let group = group
            .set_column_metadata(columns)
            .set_file_offset(i64::try_from(start)?);
        Ok((group.build()?, offsets))
    }

    fn chunk(
        &mut self,
        place: (i16, i16),
        chunk: ColumnChunkMetaData,
        mut index: OffsetIndexMetaData,
    ) -> Result<(ColumnChunkMetaData, OffsetIndexMetaData), ParquetError> {
        let begin = self.clear;
        let start = i64::try_from(chunk.byte_range().0)?;
        let first = index.page_locations.first();
        let first = first.ok_or_else(|| damaged("a column has no page"))?.offset;
        // The bytes between a chunk's start and its first data page are its dictionary page.
        let dictionary = match first.checked_sub(start) {
            Some(0) => None,
            length => Some(self.page(place, None, start, length.unwrap_or(-1))?.0),
        };
        let data = i64::try_from(self.clear)?;
        for (ordinal, location) in index.page_locations.iter_mut().enumerate() {
            let length = i64::from(location.compressed_page_size);
            let (offset, inside) = self.page(place, Some(i16::try_from(ordinal)?), location.offset, length)?;
            (location.offset, location.compressed_page_size) = (offset, inside);
        }
        let chunk = chunk
            .into_builder()
            .set_dictionary_page_offset(dictionary)
            .set_data_page_offset(data)
            .set_total_compressed_size(i64::try_from(self.clear - begin)?)
            .set_column_crypto_metadata(None)
            .set_encrypted_column_metadata(None)
            .build()?;
        Ok((chunk, index))
    }

    /// Adds the next page. Returns its start and its length in the clear file.
    fn page(
        &mut self,
        (group, column): (i16, i16),
        ordinal: Option<i16>,
        sealed: i64,
        length: i64,
    ) -> Result<(i64, i32), ParquetError> {
        if u64::try_from(sealed).ok() != Some(self.sealed) {
            return Err(damaged("its pages do not follow each other"));
        }
        let length = u32::try_from(length).map_err(|_| damaged("a page is too long"))?;
        let inside = u64::from(length).checked_sub(AROUND_PAGE);
        let inside = inside.ok_or_else(|| damaged("a page is too short"))?;
        let clear = self.clear;
        self.pages.push(SealedPage {
            clear,
            sealed: self.sealed,
            length,
            group,
            column,
            ordinal,
        });
        self.clear += inside;
        self.sealed += u64::from(length);
        Ok((i64::try_from(clear)?, i32::try_from(inside)?))
    }
}

pub(in crate::lake::seal) fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("a sealed file is damaged: {what}"))
}
