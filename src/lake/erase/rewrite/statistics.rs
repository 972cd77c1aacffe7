//! Statistics and page indexes of a column chunk of which some pages were encoded anew.

use std::cmp::Ordering;

use parquet::basic::{BoundaryOrder, SortOrder, Type};
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnIndexBuilder, LevelHistogram};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescriptor;

/// The smallest length of a text that may be a shortened one. The Parquet library shortens texts to 64 bytes, or to the
/// last whole character in them.
const SHORTENED: usize = 61;

/// The facts of a page in the column index.
#[derive(Clone, Debug)]
pub(super) struct PageFacts {
    /// The lowest and the highest value. `None` if the page has no value.
    bounds: Option<(Vec<u8>, Vec<u8>)>,
    nulls: i64,
    definitions: Option<LevelHistogram>,
    repetitions: Option<LevelHistogram>,
}

impl PageFacts {
    /// Reads the facts of a page. `None` if the index has no bounds for a page that has values.
    pub(super) fn of(index: &ColumnIndexMetaData, page: usize) -> Option<PageFacts> {
        let histogram = |levels: Option<&[i64]>| levels.map(|levels| LevelHistogram::from(levels.to_vec()));
        let facts = PageFacts {
            bounds: bounds(index, page),
            nulls: index.null_count(page)?,
            definitions: histogram(index.definition_level_histogram(page)),
            repetitions: histogram(index.repetition_level_histogram(page)),
        };
        // The Parquet library takes a page for empty if it has as many nulls as rows. A page of lists may have values
        // besides.
        let values = facts
            .definitions
            .as_ref()
            .and_then(|levels| levels.values().last().copied());
        let is_known = facts.bounds.is_some() || values == Some(0);
        is_known.then_some(facts)
    }
}

fn bounds(index: &ColumnIndexMetaData, page: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    macro_rules! of {
        ($index:expr, $bytes:expr) => {
            Some(($bytes($index.min_value(page)?), $bytes($index.max_value(page)?)))
        };
    }
    match index {
        ColumnIndexMetaData::BOOLEAN(index) => of!(index, |value: &bool| vec![u8::from(*value)]),
        ColumnIndexMetaData::INT32(index) => of!(index, |value: &i32| value.to_le_bytes().to_vec()),
        ColumnIndexMetaData::INT64(index) => of!(index, |value: &i64| value.to_le_bytes().to_vec()),
        ColumnIndexMetaData::FLOAT(index) => of!(index, |value: &f32| value.to_le_bytes().to_vec()),
        ColumnIndexMetaData::DOUBLE(index) => of!(index, |value: &f64| value.to_le_bytes().to_vec()),
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => {
            of!(index, <[u8]>::to_vec)
        }
        ColumnIndexMetaData::INT96(_) | ColumnIndexMetaData::NONE => None,
    }
}

/// Compares two values in the order of the leaf. `None` if they have no order.
fn order(leaf: &ColumnDescriptor, one: &[u8], other: &[u8]) -> Option<Ordering> {
    macro_rules! compared {
        ($type:ty) => {{
            let number = |bytes: &[u8]| Some(<$type>::from_le_bytes(bytes.try_into().ok()?));
            number(one)?.partial_cmp(&number(other)?)
        }};
    }
    match (leaf.physical_type(), leaf.sort_order()) {
        (_, SortOrder::UNDEFINED) => None,
        (Type::BOOLEAN, _) => Some(one.cmp(other)),
        (Type::INT32, SortOrder::SIGNED) => compared!(i32),
        (Type::INT32, _) => compared!(u32),
        (Type::INT64, SortOrder::SIGNED) => compared!(i64),
        (Type::INT64, _) => compared!(u64),
        (Type::FLOAT, _) => compared!(f32),
        (Type::DOUBLE, _) => compared!(f64),
        (Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY, SortOrder::UNSIGNED) => Some(one.cmp(other)),
        // A decimal: two's complement, the highest byte first.
        (Type::FIXED_LEN_BYTE_ARRAY, _) if one.len() == other.len() => {
            let (first, second) = (*one.first()?, *other.first()?);
            Some((first as i8).cmp(&(second as i8)).then_with(|| one.cmp(other)))
        }
        _ => None,
    }
}

/// Returns the column index of a chunk with these pages, and the statistics of the chunk. `old` are the statistics
/// before. `None` if the values of two pages cannot be compared.
pub(super) fn indexed(
    leaf: &ColumnDescriptor,
    pages: &[PageFacts],
    old: &Statistics,
) -> Option<Result<(ColumnIndexMetaData, Statistics), ParquetError>> {
    let mut index = ColumnIndexBuilder::new(leaf.physical_type());
    let (mut ascending, mut descending) = (true, true);
    let mut last: Option<&(Vec<u8>, Vec<u8>)> = None;
    let mut chunk: Option<(&[u8], &[u8])> = None;
    for page in pages {
        let (low, high) = page.bounds.clone().unwrap_or_default();
        index.append(page.bounds.is_none(), low, high, page.nulls);
        index.append_histograms(&page.repetitions, &page.definitions);
        let Some(bounds) = &page.bounds else { continue };
        if let Some(last) = last {
            let orders = [order(leaf, &last.0, &bounds.0)?, order(leaf, &last.1, &bounds.1)?];
            ascending &= orders.iter().all(|order| order.is_le());
            descending &= orders.iter().all(|order| order.is_ge());
        }
        last = Some(bounds);
        chunk = Some(match chunk {
            None => (&bounds.0, &bounds.1),
            Some((low, high)) => (
                if order(leaf, &bounds.0, low)?.is_lt() {
                    &bounds.0
                } else {
                    low
                },
                if order(leaf, &bounds.1, high)?.is_gt() {
                    &bounds.1
                } else {
                    high
                },
            ),
        });
    }
    index.set_boundary_order(match (ascending, descending) {
        (true, _) => BoundaryOrder::ASCENDING,
        (false, true) => BoundaryOrder::DESCENDING,
        (false, false) => BoundaryOrder::UNORDERED,
    });
    let nulls = pages.iter().map(|page| page.nulls).sum::<i64>();
    let statistics = statistics(leaf, chunk, nulls.try_into().ok()?, old)?;
    Some(index.build().map(|index| (index, statistics)))
}

fn statistics(
    leaf: &ColumnDescriptor,
    bounds: Option<(&[u8], &[u8])>,
    nulls: u64,
    old: &Statistics,
) -> Option<Statistics> {
    // A shortened text is a bound and not a value.
    let exact = |value: Option<&[u8]>, of: Option<&[u8]>, was_exact: bool| {
        let may_be_short =
            leaf.physical_type() == Type::BYTE_ARRAY && value.is_some_and(|value| value.len() >= SHORTENED);
        if value == of { was_exact } else { !may_be_short }
    };
    let (low, high) = (bounds.map(|(low, _)| low), bounds.map(|(_, high)| high));
    let low_is_exact = exact(low, old.min_bytes_opt(), old.min_is_exact());
    let high_is_exact = exact(high, old.max_bytes_opt(), old.max_is_exact());
    macro_rules! of {
        ($value:expr) => {{
            let value = |bytes: Option<&[u8]>| match bytes {
                Some(bytes) => $value(bytes).map(Some),
                None => Some(None),
            };
            ValueStatistics::new(
                value(low)?,
                value(high)?,
                None,
                Some(nulls),
                old.is_min_max_deprecated(),
            )
            .with_min_is_exact(low_is_exact && low.is_some())
            .with_max_is_exact(high_is_exact && high.is_some())
            .with_backwards_compatible_min_max(old.is_min_max_backwards_compatible())
        }};
    }
    macro_rules! number {
        ($type:ty) => {
            of!(|bytes: &[u8]| Some(<$type>::from_le_bytes(bytes.try_into().ok()?)))
        };
    }
    Some(match leaf.physical_type() {
        Type::BOOLEAN => Statistics::Boolean(of!(|bytes: &[u8]| Some(*bytes.first()? != 0))),
        Type::INT32 => Statistics::Int32(number!(i32)),
        Type::INT64 => Statistics::Int64(number!(i64)),
        Type::FLOAT => Statistics::Float(number!(f32)),
        Type::DOUBLE => Statistics::Double(number!(f64)),
        Type::BYTE_ARRAY => Statistics::ByteArray(of!(|bytes: &[u8]| Some(ByteArray::from(bytes.to_vec())))),
        Type::FIXED_LEN_BYTE_ARRAY => {
            Statistics::FixedLenByteArray(of!(|bytes: &[u8]| Some(FixedLenByteArray::from(bytes.to_vec()))))
        }
        Type::INT96 => return None,
    })
}
