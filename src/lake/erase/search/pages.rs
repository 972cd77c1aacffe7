//! Searches for erased ids in the pages of a file, without decoding its columns. This takes a fraction of the time of a
//! search over columns, but does not tell how many texts have an id, and in which rows.
//!
//! A page of texts in the plain encoding has the texts one after the other, each behind its length. So has a page with
//! a dictionary. Pages of dictionary codes have no texts, so they are not read.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Encoding};
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetOffsetIndex};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::statistics::Statistics;

use super::identifiers::Identifiers;
use crate::lake::file::CheckedFile;

/// Returns the number of texts in a file whose rows are of resources of `resource_type`. `metadata` is the file's
/// footer with its offset indexes. `None` if one of the texts has an id, or if the file has a page that this search
/// cannot read.
pub(super) fn without_ids(
    file: &CheckedFile,
    metadata: &ParquetMetaData,
    resource_type: &str,
    identifiers: &Identifiers,
) -> Result<Option<u64>, ParquetError> {
    let groups = metadata.row_groups();
    let is_whole = |index: &&ParquetOffsetIndex| {
        let mut pairs = groups.iter().zip(*index);
        index.len() == groups.len() && pairs.all(|(group, index)| index.len() == group.num_columns())
    };
    let Some(index) = metadata.offset_index().filter(is_whole) else {
        return Ok(None);
    };
    let file = Arc::new(file.clone());
    let mut count = 0;
    for (group, index) in groups.iter().zip(index) {
        for (column, index) in group.columns().iter().zip(index) {
            if column.column_descr().converted_type() != ConvertedType::UTF8 {
                continue;
            }
            // Without its pages' positions, the Parquet library cannot read the pages of a sealed file.
            let (places, rows) = (index.page_locations().clone(), group.num_rows() as usize);
            let pages = SerializedPageReader::new(file.clone(), column, rows, Some(places))?;
            let is_id = column.column_path().string() == "id";
            let mut has_id = |text: &[u8]| {
                let mut found = false;
                identifiers.in_bytes(text, |_| found = true);
                found
                    || is_id && std::str::from_utf8(text).is_ok_and(|id| identifiers.whose(resource_type, id).is_some())
            };
            match (texts_of(column), search(pages, column, &mut has_id)?) {
                (Some(texts), true) => count += texts,
                _ => return Ok(None),
            }
        }
    }
    Ok(Some(count))
}

/// Returns the only value of a column of texts that are never null, by statistics. `None` if there may be several.
pub(super) fn only_value(metadata: &ParquetMetaData, column: &str) -> Option<String> {
    let mut only: Option<&[u8]> = None;
    for group in metadata.row_groups() {
        let mut columns = group.columns().iter();
        let column = columns.find(|chunk| chunk.column_path().string() == column)?;
        let Some(Statistics::ByteArray(statistics)) = column.statistics() else {
            return None;
        };
        let is_exact = statistics.min_is_exact() && statistics.max_is_exact();
        let value = statistics
            .min_bytes_opt()
            .filter(|value| Some(*value) == statistics.max_bytes_opt())?;
        if !is_exact || statistics.null_count_opt() != Some(0) || only.is_some_and(|only| only != value) {
            return None;
        }
        only = Some(value);
    }
    String::from_utf8(only?.to_vec()).ok()
}

/// Returns the number of texts in a column chunk. `None` if the footer does not tell.
fn texts_of(column: &ColumnChunkMetaData) -> Option<u64> {
    let descriptor = column.column_descr();
    let texts = if descriptor.max_def_level() == 0 {
        column.num_values()
    } else {
        *column.definition_level_histogram()?.values().last()?
    };
    u64::try_from(texts).ok()
}

/// Whether all pages of a column chunk can be read and no text has an id.
fn search(
    mut pages: SerializedPageReader<CheckedFile>,
    column: &ColumnChunkMetaData,
    has_id: &mut impl FnMut(&[u8]) -> bool,
) -> Result<bool, ParquetError> {
    let is_coded = column
        .page_encoding_stats_mask()
        .is_some_and(|mask| mask.is_only(Encoding::RLE_DICTIONARY));
    let descriptor = column.column_descr();
    let levels = [descriptor.max_rep_level(), descriptor.max_def_level()];
    while let Some(page) = pages.get_next_page()? {
        match page {
            Page::DictionaryPage {
                buf,
                encoding: Encoding::PLAIN,
                ..
            } => {
                if any_text(&buf, has_id)? {
                    return Ok(false);
                }
                if is_coded {
                    break;
                }
            }
            Page::DataPage {
                encoding: Encoding::RLE_DICTIONARY,
                ..
            } => {}
            Page::DataPage {
                buf,
                encoding: Encoding::PLAIN,
                ..
            } => {
                let mut texts = buf.as_ref();
                // Levels stand in front of the texts, behind their length.
                for _ in levels.iter().filter(|max| **max > 0) {
                    text(&mut texts)?;
                }
                if any_text(texts, has_id)? {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn any_text(mut texts: &[u8], has_id: &mut impl FnMut(&[u8]) -> bool) -> Result<bool, ParquetError> {
    while !texts.is_empty() {
        if has_id(text(&mut texts)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Takes the first text, which stands behind its length in four bytes.
fn text<'p>(page: &mut &'p [u8]) -> Result<&'p [u8], ParquetError> {
    let damaged = || ParquetError::General("a page of texts is damaged".to_owned());
    let (length, rest) = page.split_first_chunk::<4>().ok_or_else(damaged)?;
    let (text, rest) = rest
        .split_at_checked(u32::from_le_bytes(*length) as usize)
        .ok_or_else(damaged)?;
    *page = rest;
    Ok(text)
}
