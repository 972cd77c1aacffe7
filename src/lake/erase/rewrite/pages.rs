//! Reads and writes single pages of a column chunk.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{CompressedPage, Page, PageMetadata, PageReader, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescriptor;

use crate::lake::file::{ColumnChunk, CopiedColumn, Part, encode, parts, varint};

/// The pages of a column chunk that has an offset index.
pub(super) struct Pages<'c> {
    chunk: &'c ColumnChunk,
    closed: &'c ColumnCloseResult,
    places: &'c [PageLocation],
}

impl<'c> Pages<'c> {
    /// Returns `None` if the chunk has no offset index, or if its indexes do not fit its pages.
    pub(super) fn of(column: &'c CopiedColumn) -> Option<Pages<'c>> {
        let (chunk, closed) = (&column.chunk, &column.closed);
        let places = closed.offset_index.as_ref()?.page_locations();
        let (start, end) = (chunk.start as i64, (chunk.start + chunk.bytes.len() as u64) as i64);
        let first = places.first()?;
        let after_dictionary = match closed.metadata.dictionary_page_offset() {
            None => first.offset == start,
            Some(_) => first.offset > start,
        };
        // Pages follow each other without gaps, and each has a row.
        let ends = places
            .iter()
            .map(|place| place.offset + i64::from(place.compressed_page_size));
        let are_beside = ends.eq(places.iter().skip(1).map(|place| place.offset).chain([end]));
        let rows = places.iter().map(|place| place.first_row_index);
        let rows: Vec<i64> = rows.chain([closed.rows_written as i64]).collect();
        let have_rows = rows[0] == 0 && rows.is_sorted_by(|one, next| one < next);
        let have_bytes = places.iter().all(|place| place.compressed_page_size > 0);
        let index = closed.column_index.as_ref();
        let are_indexed = index.is_none_or(|index| index.num_pages() == places.len() as u64);
        let fit = after_dictionary && are_beside && have_rows && have_bytes && are_indexed;
        fit.then_some(Pages { chunk, closed, places })
    }

    /// Returns the number of data pages.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the rows of a data page, as positions in the row group.
    pub(super) fn rows(&self, page: usize) -> Range<usize> {
        let begin = |place: &PageLocation| place.first_row_index as usize;
        let end = self
            .places
            .get(page + 1)
            .map_or(self.closed.rows_written as usize, begin);
        begin(&self.places[page])..end
    }

    /// Returns the bytes of a data page, with its header.
    pub(super) fn bytes(&self, page: usize) -> Bytes {
        let place = &self.places[page];
        let start = (place.offset as u64 - self.chunk.start) as usize;
        self.chunk
            .bytes
            .slice(start..start + place.compressed_page_size as usize)
    }

    /// Returns the bytes of the dictionary page, with its header. They are empty if there is none.
    pub(super) fn dictionary_bytes(&self) -> Bytes {
        let end = self
            .places
            .first()
            .map_or(self.chunk.start, |place| place.offset as u64);
        self.chunk.bytes.slice(..(end - self.chunk.start) as usize)
    }

    /// Reads the dictionary page, if there is one. Returns a reader of the data pages.
    pub(super) fn reading(&self) -> Result<Reading, ParquetError> {
        let (file, rows) = (Arc::new(self.chunk.clone()), self.closed.rows_written as usize);
        let mut pages = SerializedPageReader::new(file, &self.closed.metadata, rows, Some(self.places.to_vec()))?;
        let dictionary = match self.dictionary_bytes().is_empty() {
            true => None,
            false => pages.get_next_page()?,
        };
        Ok(Reading {
            dictionary,
            pages,
            next: 0,
        })
    }
}

/// Reads data pages of a column chunk, in their order.
pub(super) struct Reading {
    /// The dictionary page of the chunk.
    pub(super) dictionary: Option<Page>,
    pages: SerializedPageReader<ColumnChunk>,
    next: usize,
}

impl Reading {
    /// Reads a page. It must come after the page of the last call.
    pub(super) fn page(&mut self, page: usize) -> Result<Page, ParquetError> {
        while self.next < page {
            self.pages.skip_next_page()?;
            self.next += 1;
        }
        self.next += 1;
        let page = self.pages.get_next_page()?;
        page.ok_or_else(|| ParquetError::General("a page is missing".to_owned()))
    }
}

/// Returns the size of a page when it is not compressed, with its header. `page` is the page in the file. `None` if the
/// header is not the usual one.
pub(super) fn uncompressed_size(page: &[u8]) -> Option<i64> {
    // The header begins with three numbers, which the compact protocol of Thrift encodes as zigzag: the type of the
    // page, its size, and its compressed size. Each follows a byte with the kind of field.
    const NUMBER: u8 = 0x15;
    let (mut at, mut sizes) = (0, [0; 3]);
    for size in &mut sizes {
        if page.get(at) != Some(&NUMBER) {
            return None;
        }
        (*size, at) = varint(page, at + 1)?;
    }
    let [_, size, compressed] = sizes.map(|zigzag| zigzag >> 1);
    let header = (page.len() as u64).checked_sub(compressed)?;
    i64::try_from(header + size).ok()
}

/// Pages in memory that a reader of the Parquet library takes from here. A clone has the same pages.
#[derive(Clone, Default)]
pub(super) struct InMemory(Arc<Mutex<VecDeque<Page>>>);

impl InMemory {
    /// Adds a page for the reader.
    pub(super) fn put(&self, page: Page) {
        self.pages().push_back(page);
    }

    fn pages(&self) -> MutexGuard<'_, VecDeque<Page>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Iterator for InMemory {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pages().pop_front().map(Ok)
    }
}

impl PageReader for InMemory {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        Ok(self.pages().pop_front())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Ok(self.pages().front().map(|page| PageMetadata {
            num_rows: None,
            num_levels: Some(page.num_values() as usize),
            is_dict: page.is_dictionary_page(),
        }))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.pages().pop_front();
        Ok(())
    }

    /// A page begins with a row, because the chunk has an offset index.
    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        Ok(true)
    }
}

/// Keeps the pages that a column writer makes.
pub(super) struct KeptPages<'p>(pub(super) &'p mut Vec<CompressedPage>);

impl PageWriter for KeptPages<'_> {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        let mut written = PageWriteSpec::new();
        written.page_type = page.page_type();
        written.uncompressed_size = page.uncompressed_size();
        written.compressed_size = page.compressed_size();
        written.num_values = page.num_values();
        written.bytes_written = page.compressed_size() as u64;
        self.0.push(page);
        Ok(written)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        Ok(())
    }
}

/// Returns the bytes of a page with its header, as they are in a file.
pub(super) fn with_header(page: CompressedPage) -> Result<Bytes, ParquetError> {
    let mut sink = TrackedWrite::new(Vec::with_capacity(page.compressed_size() + 64));
    SerializedPageWriter::new(&mut sink).write_page(page)?;
    Ok(sink.into_inner()?.into())
}

/// Compresses a page. `None` if this program does not write this compression, or this version of data pages.
pub(super) fn compressed(mut page: Page, compression: Compression) -> Option<CompressedPage> {
    let (Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. }) = &mut page else {
        return None;
    };
    let size = buf.len();
    match compression {
        Compression::UNCOMPRESSED => {}
        Compression::LZ4_RAW => *buf = lz4_flex::block::compress(buf).into(),
        _ => return None,
    }
    Some(CompressedPage::new(page, size))
}

/// The parts of a data page: its levels, and its values in their encoding. `None` unless the page is of the first
/// version of data pages.
pub(super) fn split<'p>(page: &'p Page, leaf: &ColumnDescriptor) -> Option<(&'p [u8], &'p [u8])> {
    let Page::DataPage {
        buf,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        ..
    } = page
    else {
        return None;
    };
    let mut end = 0;
    for maximum in [leaf.max_rep_level(), leaf.max_def_level()] {
        if maximum > 0 {
            let length = buf.get(end..)?.first_chunk::<4>()?;
            end += 4 + u32::from_le_bytes(*length) as usize;
        }
    }
    buf.split_at_checked(end)
}

/// Decodes the dictionary codes of `count` values. `values` is the second part of a data page: the width of the codes
/// in bits, then the codes.
pub(super) fn decode_codes(values: &[u8], count: usize) -> Result<Vec<u32>, ParquetError> {
    let (width, encoded) = values.split_first().unwrap_or((&0, &[]));
    let mut codes = Vec::with_capacity(count);
    parts(encoded, u32::from(*width), count, |part| match part {
        Part::Run(code, count) => codes.extend(std::iter::repeat_n(code, count)),
        Part::Packed(packed) => codes.extend(packed.values()),
    })?;
    Ok(codes)
}

/// Encodes dictionary codes with the same width as the codes in `values`. `None` if a code needs more bits.
pub(super) fn encode_codes(values: &[u8], codes: &[u32]) -> Option<Vec<u8>> {
    let width = values.first().copied().unwrap_or(0);
    let bits = codes.iter().map(|code| u32::BITS - code.leading_zeros()).max();
    if bits.unwrap_or(0) > u32::from(width) {
        return None;
    }
    let mut bytes = vec![width];
    encode(codes, u32::from(width), &mut bytes);
    Some(bytes)
}

/// Returns a dictionary page without the values of some entries, which no row has. The other entries keep their codes.
/// In place of the values are numbers that are zero, or texts of control characters that tell the code of the entry.
/// Such texts differ from each other, because pyarrow confuses the codes of a dictionary in which two texts are equal.
/// Returns `None` if another text consists of these characters, or if the entries do not have the plain encoding.
pub(super) fn without_entries(page: &Page, leaf: &ColumnDescriptor, is_unused: impl Fn(usize) -> bool) -> Option<Page> {
    let Page::DictionaryPage {
        buf,
        num_values,
        encoding: Encoding::PLAIN,
        ..
    } = page
    else {
        return None;
    };
    let (mut rest, mut made) = (buf.as_ref(), Vec::with_capacity(buf.len()));
    for entry in 0..*num_values as usize {
        let length = match leaf.physical_type() {
            Type::BOOLEAN => return None,
            Type::INT32 | Type::FLOAT => 4,
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::BYTE_ARRAY => {
                let (length, others) = rest.split_first_chunk::<4>()?;
                rest = others;
                u32::from_le_bytes(*length) as usize
            }
            Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(leaf.type_length()).ok()?,
        };
        let (value, others) = rest.split_at_checked(length)?;
        let is_text = leaf.physical_type() == Type::BYTE_ARRAY;
        let is_like_code = is_text && !value.is_empty() && value.iter().all(|byte| CODE_DIGITS.contains(byte));
        let value = match is_unused(entry) {
            true if is_text => &code_text(entry),
            true => &*vec![0; length],
            // An earlier erasure has removed the value of this entry.
            false if is_like_code && value != code_text(entry) => return None,
            false => value,
        };
        if is_text {
            made.extend_from_slice(&u32::try_from(value.len()).ok()?.to_le_bytes());
        }
        made.extend_from_slice(value);
        rest = others;
    }
    Some(Page::DictionaryPage {
        buf: made.into(),
        num_values: *num_values,
        encoding: Encoding::PLAIN,
        is_sorted: false,
    })
}

/// The control characters that are the octal digits of a code.
const CODE_DIGITS: RangeInclusive<u8> = 1..=8;

/// Returns the octal digits of a code as control characters.
fn code_text(code: usize) -> Vec<u8> {
    format!("{code:o}")
        .bytes()
        .map(|digit| digit - b'0' + CODE_DIGITS.start())
        .collect()
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    fn dictionary(texts: &[&str]) -> Page {
        let entry = |text: &&str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        Page::DictionaryPage {
            buf: texts.iter().flat_map(entry).collect::<Vec<u8>>().into(),
            num_values: texts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        }
    }

    #[test]
    fn emptied_entries_differ() {
        let schema = Arc::new(parse_message_type("message m { optional binary text (utf8); }").unwrap());
        let schema = SchemaDescriptor::new(schema);
        let leaf = schema.column(0);
        let page = dictionary(&["ann", "", "ben", "cid"]);
        let first = without_entries(&page, &leaf, |entry| entry == 0 || entry == 2).unwrap();
        assert_eq!(first.buffer(), dictionary(&["\u{1}", "", "\u{3}", "cid"]).buffer());
        let second = without_entries(&first, &leaf, |entry| entry == 3).unwrap();
        assert_eq!(second.buffer(), dictionary(&["\u{1}", "", "\u{3}", "\u{4}"]).buffer());
        assert_eq!(code_text(0o1702), [2, 8, 1, 3]);
        // A row may have such a text.
        let page = dictionary(&["ann", "\u{1}"]);
        assert!(without_entries(&page, &leaf, |entry| entry == 0).is_none());
    }

    #[test]
    fn a_code_that_is_too_wide_is_refused() {
        let coded = encode_codes(&[2], &[0, 3]).unwrap();
        assert_eq!(decode_codes(&coded, 2).unwrap(), [0, 3]);
        assert!(encode_codes(&[2], &[4]).is_none() && encode_codes(&[], &[1]).is_none());
        assert!(encode_codes(&[0], &[0]).is_some());
        assert!(decode_codes(&[], 0).unwrap().is_empty() && decode_codes(&[], 1).is_err());
    }
}
