//! Reads a leaf's column chunk and returns, for each slot, which alternatives its value allows. A slot is one entry of
//! the chunk: a value, a null or an empty list. The code looks at each dictionary value once and translates dictionary
//! codes. It builds no Arrow column.
//!
//! The caller's function defines the alternatives of a value. They are the conditions that the value meets, as the bits
//! of a word, or any other result of this function, such as a number.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;

use super::super::cache::file::{CountedFile, OpenFile, ReadBytes};
use super::super::conditions::pruning::is_complete;
use crate::lake::file::{Part, parts};

/// A leaf's column chunk whose dictionary has been read.
pub(in crate::lake::scan) struct Chunk<A, F> {
    /// The function that returns the alternatives of a value. It gets `None` for a missing value.
    allowed: F,
    /// The alternatives of a missing value.
    absent: A,
    column: ColumnDescPtr,
    rows: usize,
    /// The number of slots in all pages.
    slots: usize,
    pages: SerializedPageReader<ChunkFile>,
    /// The alternatives of each dictionary entry.
    dictionary: Vec<A>,
    /// The first data page, if the chunk has no dictionary. It was read in the search for the dictionary.
    first: Option<Page>,
    /// Whether all values are entries of the dictionary.
    is_coded: bool,
    /// Whether statistics prove that every item has a value in the leaf.
    is_complete: bool,
}

impl<A: Copy + Default, F: Fn(Option<&[u8]>) -> A> Chunk<A, F> {
    /// Opens a column chunk and reads its dictionary. `allowed` gets values in Parquet's plain encoding, texts without
    /// their length. `None` if the file has no offset index for the chunk, or if the leaf is a boolean.
    pub(in crate::lake::scan) fn open(
        file: &Arc<OpenFile>,
        group: usize,
        leaf: usize,
        read: &Arc<ReadBytes>,
        allowed: F,
    ) -> Result<Option<Chunk<A, F>>, ParquetError> {
        let metadata = file.metadata().row_group(group);
        let (chunk, rows) = (metadata.column(leaf), metadata.num_rows() as usize);
        let Some(places) = file.pages(group, leaf).filter(|_| chunk.column_type() != Type::BOOLEAN) else {
            return Ok(None);
        };
        let column = chunk.column_descr_ptr();
        let (start, length) = chunk.byte_range();
        let input = Arc::new(ChunkFile {
            file: CountedFile::new(file, read),
            start,
            end: start + length,
            pages: OnceLock::new(),
        });
        let mut pages = SerializedPageReader::new(input, chunk, rows, Some(places.to_vec()))?;
        let (dictionary, first) = match pages.get_next_page()? {
            Some(Page::DictionaryPage { buf, num_values, .. }) => (
                plain(&buf, &column, num_values as usize, |value| allowed(Some(value)))?,
                None,
            ),
            first => (Vec::new(), first),
        };
        let encodings = chunk.page_encoding_stats_mask();
        let is_coded = first.is_none()
            && encodings
                .is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY) || mask.is_only(Encoding::PLAIN_DICTIONARY));
        let levels = chunk.definition_level_histogram().map(|histogram| histogram.values());
        Ok(Some(Chunk {
            is_complete: levels.is_some_and(is_complete),
            absent: allowed(None),
            allowed,
            column,
            rows,
            slots: usize::try_from(chunk.num_values()).map_err(|_| damaged())?,
            pages,
            dictionary,
            first,
            is_coded,
        }))
    }

    /// Returns the alternatives of all dictionary entries. Also returns the alternatives of a missing value, unless
    /// statistics prove that each item has a value. `None` if some values may not be in the dictionary.
    pub(in crate::lake::scan) fn kinds(&self) -> Option<impl Iterator<Item = A> + '_> {
        let absent = (!self.is_complete).then_some(self.absent);
        let kinds = || self.dictionary.iter().copied().chain(absent);
        self.is_coded.then(kinds)
    }

    /// Returns the number of lists above the leaf.
    pub(in crate::lake::scan) fn repetition(&self) -> i16 {
        self.column.max_rep_level()
    }

    /// Returns the alternatives of each slot. `None` if a page has an unknown encoding. Fails if the number of slots or
    /// rows differs from the footer.
    pub(in crate::lake::scan) fn slots(mut self) -> Result<Option<Slots<A>>, ParquetError> {
        let column = self.column.clone();
        let mut slots = Slots {
            allowed: Vec::with_capacity(self.rows),
            rows: None,
        };
        let mut row = 0;
        while let Some(page) = self.next_page()? {
            let Page::DataPage {
                buf,
                num_values,
                encoding,
                ..
            } = &page
            else {
                return Ok(None);
            };
            let (count, mut rest) = (*num_values as usize, buf.as_ref());
            if count > self.slots - slots.allowed.len() {
                return Err(damaged());
            }
            slots.place(Levels::take(&mut rest, column.max_rep_level(), count)?, &mut row)?;
            let definition = Levels::take(&mut rest, column.max_def_level(), count)?;
            let present = definition.count_of(definition.max_level)?;
            let values = match encoding {
                Encoding::PLAIN => plain(rest, &column, present, |value| (self.allowed)(Some(value)))?,
                Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => coded(rest, present, &self.dictionary)?,
                _ => return Ok(None),
            };
            slots.append(definition, &values, self.absent)?;
        }
        // Check the numbers of slots and rows. If one slot were missing, all later slots would belong to wrong rows.
        let rows = if slots.rows.is_some() {
            row as usize
        } else {
            slots.allowed.len()
        };
        if slots.allowed.len() == self.slots && rows == self.rows {
            Ok(Some(slots))
        } else {
            Err(damaged())
        }
    }

    fn next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        match self.first.take() {
            Some(page) => Ok(Some(page)),
            None => self.pages.get_next_page(),
        }
    }
}

/// The part of a file that holds a column chunk. The dictionary is read in a call of its own, because the data pages
/// are often not needed after it. The first read of a data page reads all of them at once.
struct ChunkFile {
    file: CountedFile,
    start: u64,
    end: u64,
    /// The data pages, and the position in the file at which they begin.
    pages: OnceLock<(u64, Bytes)>,
}

impl Length for ChunkFile {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl ChunkReader for ChunkFile {
    type T = <CountedFile as ChunkReader>::T;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        if self.pages.get().is_none() && (self.start + 1..self.end).contains(&start) {
            let pages = self.file.get_bytes(start, (self.end - start) as usize)?;
            self.pages.get_or_init(|| (start, pages));
        }
        if let Some((from, pages)) = self.pages.get()
            && let Some(from) = start.checked_sub(*from)
            && let Some(until) = from.checked_add(length as u64)
            && until <= pages.len() as u64
        {
            return Ok(pages.slice(from as usize..until as usize));
        }
        self.file.get_bytes(start, length)
    }
}

/// The slots of a leaf in a row group.
pub(in crate::lake::scan) struct Slots<A> {
    /// The alternatives of each slot.
    pub(in crate::lake::scan) allowed: Vec<A>,
    /// The row of each slot. `None` if each row has one slot.
    rows: Option<Vec<u32>>,
}

impl<A: Copy + Default> Slots<A> {
    /// Calls `take` with ranges of rows that have a slot for which `holds` is true, in the order of the slots. Two
    /// ranges may have a row in common.
    pub(in crate::lake::scan) fn rows_where(&self, holds: impl Fn(A) -> bool, mut take: impl FnMut(Range<u32>)) {
        let mut at = 0;
        while let Some(ahead) = self.allowed[at..].iter().position(|allowed| holds(*allowed)) {
            let from = at + ahead;
            let rest = &self.allowed[from..];
            let length = rest.iter().position(|allowed| !holds(*allowed)).unwrap_or(rest.len());
            at = from + length;
            take(match &self.rows {
                // Slots are in the order of their rows, and every row has a slot. So the run of slots covers all rows
                // from its first to its last.
                Some(rows) => rows[from]..rows[at - 1] + 1,
                None => from as u32..at as u32,
            });
        }
    }

    /// Records to which row each slot of a page belongs. A slot of repetition level zero begins a row, which gets the
    /// number `next_row`.
    fn place(&mut self, levels: Levels, next_row: &mut u32) -> Result<(), ParquetError> {
        if levels.max_level == 0 {
            return Ok(());
        }
        if self.rows.is_none() && levels.count_of(0)? == levels.count {
            *next_row += levels.count as u32;
            return Ok(());
        }
        let rows = self.rows.get_or_insert_with(|| (0..*next_row).collect());
        levels.parts(|part| match part {
            Part::Run(0, times) => {
                rows.extend(*next_row..*next_row + times as u32);
                *next_row += times as u32;
            }
            Part::Run(_, times) => rows.extend(std::iter::repeat_n(next_row.saturating_sub(1), times)),
            Part::Packed(packed) => rows.extend(packed.values().map(|level| {
                *next_row += u32::from(level == 0);
                next_row.saturating_sub(1)
            })),
        })
    }

    /// Adds a page's slots. At the maximum definition level, a slot has a value and gets the alternatives of the value.
    /// One level below, the item exists without a value, and the slot gets `absent`. At a lower level there is no item,
    /// and the slot gets no alternative.
    fn append(&mut self, definition: Levels, values: &[A], absent: A) -> Result<(), ParquetError> {
        let max_level = definition.max_level as u32;
        if max_level == 0 {
            self.allowed.extend_from_slice(values);
            return Ok(());
        }
        let without = |level: u32| if level + 1 == max_level { absent } else { A::default() };
        // `values` has one entry for each slot at the maximum level, so the splits below stay within it.
        let mut left = values;
        definition.parts(|part| match part {
            Part::Run(level, times) if level == max_level => {
                let (these, rest) = left.split_at(times);
                self.allowed.extend_from_slice(these);
                left = rest;
            }
            Part::Run(level, times) => self.allowed.extend(std::iter::repeat_n(without(level), times)),
            Part::Packed(packed) => {
                let mut these = left.iter();
                if max_level == 1 {
                    let from = self.allowed.len();
                    self.allowed.resize(from + packed.count, absent);
                    let slots = &mut self.allowed[from..];
                    packed.ones(|slot| {
                        if let (Some(allowed), Some(value)) = (slots.get_mut(slot), these.next()) {
                            *allowed = *value;
                        }
                    });
                } else {
                    let allowed = packed.values().map(|level| {
                        if level == max_level {
                            these.next().copied().unwrap_or_default()
                        } else {
                            without(level)
                        }
                    });
                    self.allowed.extend(allowed);
                }
                left = these.as_slice();
            }
        })
    }
}

impl Slots<u8> {
    /// Returns the alternatives of `count` rows. A row has every alternative that one of its slots has.
    pub(in crate::lake::scan) fn of_rows(self, count: usize) -> Vec<u8> {
        let Some(rows) = self.rows else {
            return self.allowed;
        };
        let mut found = vec![0; count];
        for (row, allowed) in rows.iter().zip(&self.allowed) {
            if let Some(found) = found.get_mut(*row as usize) {
                *found |= allowed;
            }
        }
        found
    }
}

/// The repetition levels or definition levels of a page's slots.
#[derive(Clone, Copy)]
struct Levels<'a> {
    bytes: &'a [u8],
    max_level: i16,
    count: usize,
}

impl<'a> Levels<'a> {
    /// Takes the levels from the start of a page: a length of four bytes, then the encoded levels. If `max_level` is
    /// zero, the page has no levels and nothing is taken.
    fn take(page: &mut &'a [u8], max_level: i16, count: usize) -> Result<Levels<'a>, ParquetError> {
        let mut bytes: &[u8] = &[];
        if max_level > 0 {
            let (length, rest) = page.split_first_chunk::<4>().ok_or_else(damaged)?;
            let length = u32::from_le_bytes(*length) as usize;
            (bytes, *page) = rest.split_at_checked(length).ok_or_else(damaged)?;
        }
        Ok(Levels {
            bytes,
            max_level,
            count,
        })
    }

    fn parts(self, take: impl FnMut(Part<'a>)) -> Result<(), ParquetError> {
        let width = 16 - (self.max_level as u16).leading_zeros();
        parts(self.bytes, width, self.count, take)
    }

    /// Returns the number of slots with this level.
    fn count_of(self, wanted: i16) -> Result<usize, ParquetError> {
        if self.max_level == 0 {
            return Ok(self.count);
        }
        let (wanted, mut found) = (wanted as u32, 0);
        self.parts(|part| {
            found += match part {
                Part::Run(level, times) if level == wanted => times,
                Part::Run(..) => 0,
                Part::Packed(packed) => packed.count_of(wanted),
            }
        })?;
        Ok(found)
    }
}

/// Returns the alternatives of `count` values in Parquet's plain encoding. In front of a text are four bytes with its
/// length. Other values have the size of their type.
fn plain<A>(
    values: &[u8],
    column: &ColumnDescPtr,
    count: usize,
    allowed: impl Fn(&[u8]) -> A,
) -> Result<Vec<A>, ParquetError> {
    let size = match column.physical_type() {
        Type::BYTE_ARRAY => None,
        Type::INT32 | Type::FLOAT => Some(4),
        Type::INT96 => Some(12),
        Type::FIXED_LEN_BYTE_ARRAY => Some(usize::try_from(column.type_length()).map_err(|_| damaged())?),
        _ => Some(8),
    };
    let (mut left, mut found) = (values, Vec::with_capacity(count.min(values.len())));
    for _ in 0..count {
        let (size, rest) = match size {
            Some(size) => (size, left),
            None => {
                let (length, rest) = left.split_first_chunk::<4>().ok_or_else(damaged)?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
        };
        let (value, rest) = rest.split_at_checked(size).ok_or_else(damaged)?;
        found.push(allowed(value));
        left = rest;
    }
    Ok(found)
}

/// Returns the alternatives of `count` values that are stored as dictionary codes. The first byte is the width of a
/// code in bits. Fails if a code is not in the dictionary.
fn coded<A: Copy + Default>(bytes: &[u8], count: usize, dictionary: &[A]) -> Result<Vec<A>, ParquetError> {
    let mut found = Vec::with_capacity(count);
    if count == 0 {
        return Ok(found);
    }
    let (width, bytes) = bytes.split_first().ok_or_else(damaged)?;
    let mut known = true;
    let mut allowed = |code: u32| {
        let allowed = dictionary.get(code as usize);
        known &= allowed.is_some();
        allowed.copied().unwrap_or_default()
    };
    parts(bytes, u32::from(*width), count, |part| match part {
        Part::Run(code, times) => found.extend(std::iter::repeat_n(allowed(code), times)),
        Part::Packed(packed) => found.extend(packed.values().map(&mut allowed)),
    })?;
    if known { Ok(found) } else { Err(damaged()) }
}

fn damaged() -> ParquetError {
    ParquetError::General("a page of values is damaged".to_owned())
}
