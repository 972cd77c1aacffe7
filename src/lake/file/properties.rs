//! The encoding of data files. The README of `lake` has the measurements behind these choices.

use crate::columns::layout::LAYOUT_VERSION;
use crate::fhir::{TypeId, facts};
use crate::lake::seal::{FileKey, encryption};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{BloomFilterPosition, EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// Footer key of [`LAYOUT_VERSION`].
pub const LAYOUT_VERSION_KEY: &str = "tabularium.layout_version";
/// Footer key of the table's resource type.
pub const RESOURCE_TYPE_KEY: &str = "tabularium.resource_type";

/// The maximum number of rows in a row group.
pub(in crate::lake) const ROW_GROUP_ROWS: usize = 32_768;
/// The approximate maximum of encoded bytes in a row group.
pub(super) const ROW_GROUP_BYTES: usize = 64 << 20;
/// The number of rows in a data page. A page is the unit that a page index can skip.
pub(in crate::lake) const PAGE_ROWS: usize = 1_024;
/// The approximate number of bytes of resource text in a data page. To read one resource, a reader must read the whole
/// page, so these pages are small.
const RESOURCE_PAGE_BYTES: usize = 32 << 10;
/// The probability that the bloom filter reports an absent id as present.
const BLOOM_FALSE_POSITIVES: f64 = 0.001;

/// Returns the properties for a file of `type_id` with about `rows` rows. `owner` and `id` are the indexes of these
/// columns among all leaves. With a key the file is sealed. A sealed file has no bloom filter, because the Parquet
/// library would write it unencrypted.
pub(super) fn properties(
    type_id: TypeId,
    rows: usize,
    (owner, id): (usize, usize),
    key: Option<&FileKey>,
) -> Result<WriterProperties, ParquetError> {
    let resource = || ColumnPath::from("resource");
    let id_path = || ColumnPath::from("id");
    let ascending = |column: usize| SortingColumn {
        column_idx: column as i32,
        descending: false,
        nulls_first: true,
    };
    let footer = vec![
        KeyValue::new(LAYOUT_VERSION_KEY.to_owned(), LAYOUT_VERSION.to_string()),
        KeyValue::new(RESOURCE_TYPE_KEY.to_owned(), facts().get(type_id).name.to_owned()),
    ];
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("tabularium version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(footer))
        .set_sorting_columns(Some(vec![ascending(owner), ascending(id)]))
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .set_column_dictionary_enabled(id_path(), false)
        .set_column_dictionary_enabled(ColumnPath::from("digest"), false)
        .set_column_compression(resource(), Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_column_dictionary_enabled(resource(), false)
        .set_column_data_page_size_limit(resource(), RESOURCE_PAGE_BYTES)
        .set_column_statistics_enabled(resource(), EnabledStatistics::None);
    properties = match key {
        Some(key) => properties.with_file_encryption_properties(encryption(key)?),
        None => properties
            .set_bloom_filter_position(BloomFilterPosition::End)
            .set_column_bloom_filter_fpp(id_path(), BLOOM_FALSE_POSITIVES)
            .set_column_bloom_filter_max_ndv(id_path(), rows.clamp(1, ROW_GROUP_ROWS) as u64),
    };
    Ok(properties.build())
}
