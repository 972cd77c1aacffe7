//! Estimates the memory of decoded rows from a file's footer and page indexes.

use parquet::file::metadata::ParquetMetaData;

/// Estimates the bytes of a decoded row in a row group, for the part of the group where rows are largest. An average
/// would hide a few large documents among many small records. A page ends soon after a large value, so a page with few
/// rows and many bytes reveals the large value.
pub(in crate::lake) fn row_bytes(metadata: &ParquetMetaData, group: usize) -> u64 {
    let of = metadata.row_group(group);
    let rows = of.num_rows().max(1) as u64;
    let average = of.total_byte_size().max(0) as u64 / rows;
    let heaviest = (0..of.num_columns()).filter_map(|leaf| heaviest_page(metadata, group, leaf));
    average.max(1) + heaviest.max().unwrap_or(0)
}

/// Returns the decoded bytes per row in the page of this column where they are most. `None` without page indexes.
fn heaviest_page(metadata: &ParquetMetaData, group: usize, leaf: usize) -> Option<u64> {
    let of = metadata.row_group(group);
    let column = of.column(leaf);
    let packed = column.compressed_size().max(1) as u64;
    let unpacked = column.uncompressed_size().max(0) as u64;
    let pages = metadata.offset_index()?.get(group)?.get(leaf)?.page_locations();
    let ends = pages.iter().skip(1).map(|page| page.first_row_index);
    let ends = ends.chain(std::iter::once(of.num_rows()));
    let bytes = pages.iter().zip(ends).map(|(page, end)| {
        let rows = (end - page.first_row_index).max(1) as u64;
        (page.compressed_page_size.max(0) as u64).saturating_mul(unpacked) / packed / rows
    });
    bytes.max()
}
