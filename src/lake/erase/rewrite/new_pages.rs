//! The pages of a column chunk that were encoded anew, and the chunk that they make together with the old pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{CompressedPage, Page};
use parquet::column::writer::{ColumnCloseResult, get_column_writer, get_typed_column_writer};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{LevelHistogram, OffsetIndexBuilder};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnDescPtr;
use rustc_hash::FxHashSet;

use super::pages::{KeptPages, Pages, compressed, decode_codes, encode_codes, split, uncompressed_size, with_header};
use super::records::{Levels, Records};
use super::statistics::{PageFacts, indexed};
use crate::lake::file::{ColumnChunk, CopiedColumn};

/// More rows and bytes than a page has.
const UNLIMITED: usize = 1 << 30;

/// A page that was encoded anew.
pub(super) struct NewPage {
    /// The page in the file, with its header.
    bytes: Bytes,
    facts: Option<PageFacts>,
    before: Levels,
    now: Levels,
    /// The number of bytes of its texts.
    text_bytes: Option<i64>,
    /// The dictionary codes of its values, if it has such codes.
    codes: Vec<u32>,
}

/// Encodes a page whose rows have become blank. `before` and `made` are its rows before and now. `None` if the encoding
/// of the old page is not one that this program writes.
pub(super) fn encoded<T: DataType>(
    old: &Page,
    before: &Records<T::T>,
    made: &Records<T::T>,
    leaf: &ColumnDescPtr,
    (compression, has_statistics): (Compression, bool),
) -> Result<Option<NewPage>, ParquetError> {
    let is_coded = match old.encoding() {
        Encoding::PLAIN => false,
        Encoding::RLE_DICTIONARY => true,
        _ => return Ok(None),
    };
    let statistics = if has_statistics {
        EnabledStatistics::Page
    } else {
        EnabledStatistics::None
    };
    let properties = WriterProperties::builder()
        .set_compression(if is_coded {
            Compression::UNCOMPRESSED
        } else {
            compression
        })
        .set_dictionary_enabled(false)
        .set_statistics_enabled(statistics)
        .set_data_page_row_count_limit(UNLIMITED)
        .set_data_page_size_limit(UNLIMITED)
        .set_write_batch_size(UNLIMITED)
        .build();
    let mut pages = Vec::new();
    let kept = Box::new(KeptPages(&mut pages));
    let writer = get_column_writer(Arc::clone(leaf), Arc::new(properties), kept);
    let mut writer = get_typed_column_writer::<T>(writer);
    made.write(&mut writer)?;
    let closed = writer.close()?;
    let Ok([mut page]) = <[CompressedPage; 1]>::try_from(pages) else {
        return Ok(None);
    };
    let facts = closed.column_index.as_ref().and_then(|index| PageFacts::of(index, 0));
    if has_statistics && facts.is_none() {
        return Ok(None);
    }
    let codes = made.codes().unwrap_or_default();
    if is_coded {
        // The page has its values in the plain encoding. Keep its levels, and put the codes in the place of the values.
        let coded = || {
            let (levels, _) = split(page.compressed_page(), leaf)?;
            let (_, values) = split(old, leaf)?;
            let buf = [levels, &encode_codes(values, codes)?].concat();
            let page = Page::DataPage {
                buf: buf.into(),
                num_values: page.num_values(),
                encoding: Encoding::RLE_DICTIONARY,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            compressed(page, compression)
        };
        let Some(coded) = coded() else { return Ok(None) };
        page = coded;
    }
    Ok(Some(NewPage {
        bytes: with_header(page)?,
        facts,
        before: before.levels(),
        now: made.levels(),
        text_bytes: (leaf.physical_type() == Type::BYTE_ARRAY).then(|| made.bytes()),
        codes: codes.to_vec(),
    }))
}

/// Returns those of the codes in `gone` that no page has any more. `None` if the codes of a page cannot be read.
pub(super) fn unused(
    column: &CopiedColumn,
    pages: &Pages<'_>,
    changed: &BTreeMap<usize, NewPage>,
    mut gone: FxHashSet<u32>,
) -> Result<Option<FxHashSet<u32>>, ParquetError> {
    for code in changed.values().flat_map(|page| &page.codes) {
        gone.remove(code);
    }
    if gone.is_empty() {
        return Ok(Some(gone));
    }
    let leaf = column.closed.metadata.column_descr();
    let index = column.closed.column_index.as_ref();
    let mut reading = pages.reading()?;
    for at in (0..pages.len()).filter(|at| !changed.contains_key(at)) {
        let page = reading.page(at)?;
        let nulls = match leaf.max_def_level() {
            0 => Some(0),
            _ => index.and_then(|index| index.null_count(at)),
        };
        let values = match page.encoding() {
            Encoding::PLAIN => continue,
            Encoding::RLE_DICTIONARY => split(&page, leaf).map(|(_, values)| values),
            _ => None,
        };
        let (Some(nulls), Some(values)) = (nulls, values) else {
            return Ok(None);
        };
        let count = (i64::from(page.num_values()) - nulls).max(0) as usize;
        for code in decode_codes(values, count)? {
            gone.remove(&code);
        }
        if gone.is_empty() {
            break;
        }
    }
    Ok(Some(gone))
}

/// Puts the pages of a chunk together. `None` if its statistics cannot be computed from those of its pages.
pub(super) fn assembled(
    column: &CopiedColumn,
    pages: &Pages<'_>,
    dictionary: Bytes,
    changed: &BTreeMap<usize, NewPage>,
) -> Result<Option<CopiedColumn>, ParquetError> {
    let chunk = &column.closed.metadata;
    let texts = column
        .closed
        .offset_index
        .as_ref()
        .and_then(|index| index.unencoded_byte_array_data_bytes());
    let mut bytes = Vec::with_capacity(column.chunk.bytes.len() + 1024);
    let mut sums = Vec::with_capacity(pages.len() + 1);
    let mut uncompressed = chunk.uncompressed_size();
    let has_dictionary = !dictionary.is_empty();
    if has_dictionary {
        let (Some(now), Some(before)) = (
            uncompressed_size(&dictionary),
            uncompressed_size(&pages.dictionary_bytes()),
        ) else {
            return Ok(None);
        };
        uncompressed += now - before;
        sums.push(sum(&dictionary));
        bytes.extend_from_slice(&dictionary);
    }
    let data_page_offset = bytes.len() as i64;
    let mut places = OffsetIndexBuilder::new();
    let mut facts = Vec::with_capacity(pages.len());
    let (mut values, mut text_bytes) = (chunk.num_values(), chunk.unencoded_byte_array_data_bytes());
    let mut definitions = chunk.definition_level_histogram().cloned();
    let mut repetitions = chunk.repetition_level_histogram().cloned();
    for at in 0..pages.len() {
        let old = pages.bytes(at);
        let new = changed.get(&at);
        let page = new.map_or(&old, |new| &new.bytes);
        let texts_before = texts.and_then(|texts| texts.get(at).copied());
        places.append_row_count(pages.rows(at).len() as i64);
        places.append_offset_and_size(bytes.len() as i64, i32::try_from(page.len())?);
        places.append_unencoded_byte_array_data_bytes(match new {
            Some(new) if texts.is_some() => new.text_bytes,
            _ => texts_before,
        });
        if let Some(new) = new {
            let (Some(now), Some(before)) = (uncompressed_size(page), uncompressed_size(&old)) else {
                return Ok(None);
            };
            uncompressed += now - before;
            values += new.now.slots as i64 - new.before.slots as i64;
            if let Some(all) = &mut text_bytes {
                let (Some(now), Some(before)) = (new.text_bytes, texts_before) else {
                    return Ok(None);
                };
                *all += now - before;
            }
            adjust(&mut definitions, &new.now.definitions, &new.before.definitions);
            adjust(&mut repetitions, &new.now.repetitions, &new.before.repetitions);
        }
        let known = match new {
            Some(new) => new.facts.clone(),
            None => column
                .closed
                .column_index
                .as_ref()
                .and_then(|index| PageFacts::of(index, at)),
        };
        facts.extend(known);
        sums.push(sum(page));
        bytes.extend_from_slice(page);
    }
    let mut metadata = chunk
        .clone()
        .into_builder()
        .set_num_values(values)
        .set_total_compressed_size(bytes.len() as i64)
        .set_total_uncompressed_size(uncompressed)
        .set_dictionary_page_offset(has_dictionary.then_some(0))
        .set_data_page_offset(data_page_offset)
        .set_unencoded_byte_array_data_bytes(text_bytes)
        .set_definition_level_histogram(definitions)
        .set_repetition_level_histogram(repetitions);
    let mut column_index = None;
    if let Some(statistics) = chunk.statistics() {
        if facts.len() != pages.len() {
            return Ok(None);
        }
        let Some(indexed) = indexed(chunk.column_descr(), &facts, statistics) else {
            return Ok(None);
        };
        let (index, statistics) = indexed?;
        column_index = Some(index);
        metadata = metadata.set_statistics(statistics);
    }
    Ok(Some(CopiedColumn {
        closed: ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: column.closed.rows_written,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index,
            offset_index: Some(places.build()),
        },
        chunk: ColumnChunk {
            start: 0,
            bytes: bytes.into(),
        },
        sums,
    }))
}

/// Replaces the levels of a page in a histogram of its chunk.
fn adjust(all: &mut Option<LevelHistogram>, now: &Option<LevelHistogram>, before: &Option<LevelHistogram>) {
    if let (Some(levels), Some(now), Some(before)) = (&*all, now, before) {
        let counts = levels.values().iter().zip(now.values()).zip(before.values());
        let counts: Vec<i64> = counts.map(|((all, now), before)| all + now - before).collect();
        *all = Some(counts.into());
    }
}

/// Returns the length and the checksum of a page.
pub(super) fn sum(page: &[u8]) -> (u32, u32) {
    (page.len() as u32, crc32fast::hash(page))
}
