//! Reads single values of a text column by decoding just the pages they lie in, found through the offset index.
//!
//! This is what a read by id and the rows of a page of results cost, so it goes past the Arrow reader: one `pread`, one
//! decompression and one walk over the values per page.

use std::sync::Arc;

use bytes::Bytes;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::ByteArrayType;
use parquet::errors::ParquetError;
use parquet::file::serialized_reader::SerializedPageReader;

use super::columns::{read_root, texts};
use super::error::ScanError;
use super::file::{CountedFile, OpenFile, ReadBytes};
use super::ranges::Ranges;

/// The values of a root text column that is never null at some rows of a row group. `rows` ascend, each once.
pub(super) fn read_texts(
    file: &Arc<OpenFile>,
    group: usize,
    column: &'static str,
    rows: &[u32],
) -> Result<Vec<Bytes>, ScanError> {
    let leaf = file.require(column)?;
    let chunk = file.metadata().row_group(group).column(leaf);
    let plain = chunk.dictionary_page_offset().is_none() && chunk.column_descr().max_def_level() == 0;
    match file.pages(group, leaf) {
        Some(pages) if plain => {
            let mut values = Vec::with_capacity(rows.len());
            let mut left = rows;
            for (at, page) in pages.iter().enumerate() {
                let first = page.first_row_index as u32;
                let end = pages
                    .get(at + 1)
                    .map_or(file.groups()[group].rows, |next| next.first_row_index as u32);
                let count = left.partition_point(|row| *row < end);
                let (here, rest) = left.split_at(count);
                left = rest;
                if !here.is_empty() {
                    let page = decode(file, group, leaf, at).map_err(file.parquet())?;
                    pick(file, group, leaf, page, first, here, &mut values).map_err(file.parquet())?;
                }
                if left.is_empty() {
                    break;
                }
            }
            Ok(values)
        }
        // Files of other writers may lack the offset index or have a dictionary.
        _ => {
            let array = read_root(file, group, column, &Ranges::of(rows.iter().copied()))?;
            let text = texts(file, &array, column)?;
            Ok((0..rows.len())
                .map(|row| Bytes::copy_from_slice(text(row).unwrap_or_default().as_bytes()))
                .collect())
        }
    }
}

/// Reads and decompresses one page of a leaf without dictionary.
fn decode(file: &Arc<OpenFile>, group: usize, leaf: usize, page: usize) -> Result<Page, ParquetError> {
    let metadata = file.metadata().row_group(group);
    let missing = || ParquetError::General("page not found".to_owned());
    let location = file
        .pages(group, leaf)
        .and_then(|pages| pages.get(page))
        .ok_or_else(missing)?
        .clone();
    // The reader takes whatever lies between a chunk's start and its first page for a dictionary: let the chunk start here.
    let chunk = metadata
        .column(leaf)
        .clone()
        .into_builder()
        .set_data_page_offset(location.offset)
        .build()?;
    let input = Arc::new(CountedFile::new(file, &ReadBytes::new(file)));
    let rows = metadata.num_rows() as usize;
    let mut reader = SerializedPageReader::new(input, &chunk, rows, Some(vec![location]))?;
    reader.get_next_page()?.ok_or_else(missing)
}

/// Takes the values at `rows` out of a page whose first row is `first`.
fn pick(
    file: &OpenFile,
    group: usize,
    leaf: usize,
    page: Page,
    first: u32,
    rows: &[u32],
    values: &mut Vec<Bytes>,
) -> Result<(), ParquetError> {
    let column = file.metadata().row_group(group).column(leaf).column_descr_ptr();
    let mut reader = ColumnReaderImpl::<ByteArrayType>::new(column, Box::new(OnePage(Some(page))));
    let (mut at, mut found) = (first, Vec::with_capacity(1));
    for row in rows {
        reader.skip_records((row - at) as usize)?;
        found.clear();
        reader.read_records(1, None, None, &mut found)?;
        let value = found
            .first()
            .ok_or_else(|| ParquetError::General("a page ends early".to_owned()))?;
        // Copied, so that an answer of one resource does not keep the whole page.
        values.push(Bytes::copy_from_slice(value.data()));
        at = row + 1;
    }
    Ok(())
}

/// A column chunk of one page.
struct OnePage(Option<Page>);

impl Iterator for OnePage {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageReader for OnePage {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        Ok(self.0.take())
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        // Of a column that does not repeat, a page has as many rows as values.
        Ok(self.0.as_ref().map(|page| PageMetadata {
            num_rows: None,
            num_levels: Some(page.num_values() as usize),
            is_dict: false,
        }))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        self.0 = None;
        Ok(())
    }

    fn at_record_boundary(&mut self) -> Result<bool, ParquetError> {
        Ok(true)
    }
}
