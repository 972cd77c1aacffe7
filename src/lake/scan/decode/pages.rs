//! Reads single values of a text column. The offset index shows which pages hold the values. Only these pages are
//! decoded.
//!
//! The speed of reads by id and of result pages depends on this code, so it does not use the Arrow reader. For each
//! page it does one `pread`, one decompression into memory that the thread keeps, and one walk over the lengths of the
//! values.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::AsArray;
use bytes::Bytes;
use parquet::basic::{Compression, CompressionCodec, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::cache::file::{CountedFile, OpenFile};
use super::super::conditions::ranges::Ranges;
use super::super::error::ScanError;
use super::columns::{read_root, texts};
use crate::columns::json::Tape;
use crate::lake::file::stored_digest;

/// Returns the values at some rows of a root text column without nulls. `rows` are positions in the row group,
/// ascending and without duplicates.
pub(in crate::lake::scan) fn all_texts(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
    rows: &[u32],
) -> Result<Vec<Bytes>, ScanError> {
    Ok(read_texts(file, group, column, rows, usize::MAX)?.unwrap_or_default())
}

/// Returns the resources at some rows. `None` if they have more than `max_bytes` bytes in all.
///
/// If pages have checksums, a text is not compared with its digest: hashing it and reading the page of its digest would
/// cost more than reading the text. Files of earlier programs have no checksums, so each of their texts is compared
/// with its digest.
pub(in crate::lake::scan) fn read_resources(
    file: &Arc<OpenFile>,
    group: usize,
    rows: &[u32],
    max_bytes: usize,
) -> Result<Option<Vec<Bytes>>, ScanError> {
    let texts = read_texts(file, group, "resource", rows, max_bytes)?;
    if let Some(texts) = &texts
        && !file.has_checksums()
    {
        let digests = read_root(file, group, "digest", &Ranges::of(rows.iter().copied()))?;
        let digests = digests.as_binary_opt::<i32>().ok_or_else(|| file.missing("digest"))?;
        let mut tape = Tape::new();
        for (text, digest) in texts.iter().zip(digests) {
            if digest != Some(&stored_digest(text, &mut tape)[..]) {
                let differs = ParquetError::General("a resource differs from its digest".to_owned());
                return Err(file.parquet()(differs));
            }
        }
    }
    Ok(texts)
}

/// Returns the values at some rows of a root text column without nulls. `None` if they have more than `max_bytes` bytes
/// in all. Stops reading pages as soon as it has read more than `max_bytes` bytes.
fn read_texts(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
    rows: &[u32],
    max_bytes: usize,
) -> Result<Option<Vec<Bytes>>, ScanError> {
    let leaf = file.require(column)?;
    match read_plain(file, group, leaf, rows, max_bytes).map_err(file.parquet())? {
        Plain::Values(values) => return Ok(Some(values)),
        Plain::TooMany => return Ok(None),
        Plain::Otherwise => {}
    }
    // The pages are not in the encoding that this program writes, for example because another program wrote the file.
    // They may have dictionaries, nulls or other encodings, or no offset index. So decode the column with the Arrow
    // reader.
    let array = read_root(file, group, column, &Ranges::of(rows.iter().copied()))?;
    let text = texts(file, &array, column)?;
    let value = |row| Bytes::copy_from_slice(text(row).unwrap_or_default().as_bytes());
    let values: Vec<Bytes> = (0..rows.len()).map(value).collect();
    Ok(Some(values).filter(|values| bytes_of(values) <= max_bytes))
}

/// The result of reading pages in the encoding that this program writes.
enum Plain {
    Values(Vec<Bytes>),
    TooMany,
    /// The column has a dictionary or nulls, has no offset index, or has another encoding.
    Otherwise,
}

fn bytes_of(values: &[Bytes]) -> usize {
    values.iter().map(Bytes::len).sum()
}

fn read_plain(
    file: &Arc<OpenFile>,
    group: usize,
    leaf: usize,
    rows: &[u32],
    max_bytes: usize,
) -> Result<Plain, ParquetError> {
    let chunk = file.metadata().row_group(group).column(leaf);
    let usual = chunk.dictionary_page_offset().is_none() && chunk.column_descr().max_def_level() == 0;
    let Some(pages) = file.pages(group, leaf).filter(|_| usual) else {
        return Ok(Plain::Otherwise);
    };
    let mut values = Vec::with_capacity(rows.len());
    let (mut left, mut bytes) = (rows, 0usize);
    while let Some(row) = left.first() {
        let at = pages.partition_point(|page| page.first_row_index <= i64::from(*row));
        let location = at.checked_sub(1).map(|at| &pages[at]).ok_or_else(short)?;
        let end = pages.get(at).map_or(i64::MAX, |next| next.first_row_index);
        let (here, rest) = left.split_at(left.partition_point(|row| i64::from(*row) < end));
        let places = here.iter().map(|row| *row as usize - location.first_row_index as usize);
        let before = values.len();
        let Some(()) = read_page(file, group, leaf, location, places, &mut values)? else {
            return Ok(Plain::Otherwise);
        };
        bytes = bytes.saturating_add(bytes_of(&values[before..]));
        if bytes > max_bytes {
            return Ok(Plain::TooMany);
        }
        left = rest;
    }
    Ok(Plain::Values(values))
}

/// Adds the values at some positions of a page to `values`. `None` if the page is not in plain encoding.
fn read_page(
    file: &Arc<OpenFile>,
    group: usize,
    leaf: usize,
    location: &PageLocation,
    places: impl Iterator<Item = usize>,
    values: &mut Vec<Bytes>,
) -> Result<Option<()>, ParquetError> {
    let metadata = file.metadata().row_group(group);
    let chunk = metadata.column(leaf);
    let zstd = chunk.compression_codec() == CompressionCodec::ZSTD;
    // The library's page reader assumes that the bytes between a chunk's start and its first page are a dictionary. So
    // the chunk is made to start at this page. A zstd page is declared as uncompressed. Then the library returns its
    // compressed bytes, and `unpack` decompresses them. The library would make a new zstd context for each reader. That
    // takes longer than decompressing a page.
    let mut page_alone = chunk.clone().into_builder().set_data_page_offset(location.offset);
    if zstd {
        page_alone = page_alone.set_compression(Compression::UNCOMPRESSED);
    }
    let input = Arc::new(CountedFile::uncounted(file));
    let rows = metadata.num_rows() as usize;
    let mut reader = SerializedPageReader::new(input, &page_alone.build()?, rows, Some(vec![location.clone()]))?;
    let Some(Page::DataPage {
        buf,
        encoding: Encoding::PLAIN,
        ..
    }) = reader.get_next_page()?
    else {
        return Ok(None);
    };
    if zstd {
        unpack(&buf, chunk.uncompressed_size(), |text| pick(text, places, values))?
    } else {
        pick(&buf, places, values)
    }
    .map(Some)
}

/// Decompresses a zstd frame into memory that the thread reuses, and calls `then` with it. Fails if the frame does not
/// state its size, or if the size exceeds `limit` bytes.
fn unpack<T>(frame: &[u8], limit: i64, then: impl FnOnce(&[u8]) -> T) -> Result<T, ParquetError> {
    type Unpacker = (zstd::bulk::Decompressor<'static>, Vec<u8>);
    thread_local!(static UNPACKER: RefCell<Option<Unpacker>> = const { RefCell::new(None) });
    /// The maximum size of the memory that is kept for the next page. Only a page with a very large value needs more.
    const KEPT: usize = 1 << 20;
    UNPACKER.with_borrow_mut(|slot| {
        let (unpacker, text) = match slot {
            Some(unpacker) => unpacker,
            None => slot.insert((zstd::bulk::Decompressor::new()?, Vec::new())),
        };
        let size = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
        let size = size.filter(|size| *size <= limit.max(0) as u64).ok_or_else(short)?;
        text.clear();
        text.reserve(size as usize);
        unpacker.decompress_to_buffer(frame, text)?;
        let result = then(text);
        text.shrink_to(KEPT);
        Ok(result)
    })
}

/// Adds the values at ascending positions of a page in plain encoding to `values`. In front of each text are four bytes
/// with its length.
fn pick(page: &[u8], places: impl Iterator<Item = usize>, values: &mut Vec<Bytes>) -> Result<(), ParquetError> {
    let (mut left, mut at) = (page, 0);
    for place in places {
        loop {
            let (length, rest) = left.split_first_chunk::<4>().ok_or_else(short)?;
            let (value, rest) = rest
                .split_at_checked(u32::from_le_bytes(*length) as usize)
                .ok_or_else(short)?;
            left = rest;
            at += 1;
            if at > place {
                // Copy the value, so that an answer of one resource does not keep the whole page in memory.
                values.push(Bytes::copy_from_slice(value));
                break;
            }
        }
    }
    Ok(())
}

fn short() -> ParquetError {
    ParquetError::General("a page does not hold the rows that its index says".to_owned())
}
