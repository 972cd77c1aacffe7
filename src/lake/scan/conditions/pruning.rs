//! Decides from Parquet statistics which rows of a file can meet a [`Prune`]. Whole row groups are checked by the
//! statistics in the footer, and pages by the statistics in the column index. Rows without statistics are kept.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parquet::data_type::AsBytes;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;

use super::super::cache::file::OpenFile;
use super::super::report::counts::{Pages, ScanReport};
use super::owner_set::OwnerSet;
use super::ranges::Ranges;
use crate::columns::conditions::Prune;
use crate::fhir::storage::NUMBER;

/// Returns the rows of a row group that may meet a condition.
pub(in crate::lake::scan) fn prune(file: &OpenFile, group: usize, condition: &Prune) -> Ranges {
    prune_noting(file, group, condition, &mut None)
}

/// Returns the rows of a row group that may meet a condition, as [`prune`] does. For each leaf, adds to the report, if
/// there is one, how many pages were compared, and how many of them have no row that meets the condition.
pub(in crate::lake::scan) fn prune_noting(
    file: &OpenFile,
    group: usize,
    condition: &Prune,
    report: &mut Option<&mut ScanReport>,
) -> Ranges {
    let all = Ranges::all(file.groups()[group].rows);
    match condition {
        Prune::Keep => all,
        Prune::Nothing => Ranges::default(),
        Prune::And(parts) => {
            let mut left = all;
            for part in parts {
                if left.is_empty() {
                    break;
                }
                left = left.intersect(&prune_noting(file, group, part, report));
            }
            left
        }
        Prune::Or(parts) => parts.iter().fold(Ranges::default(), |found, part| {
            found.union(&prune_noting(file, group, part, report))
        }),
        Prune::Text { leaf, .. } | Prune::Flag { leaf, .. } | Prune::Range { leaf, .. } | Prune::Present { leaf } => {
            prune_leaf(file, group, leaf, condition, report)
        }
        Prune::Lacks { leaf, .. } if Extent::of_group(file, group, leaf).is_some_and(|leaf| leaf.is_complete()) => {
            Ranges::default()
        }
        Prune::Lacks { beside, .. } => prune_leaf(file, group, beside, condition, report),
    }
}

/// Returns a text that says which statistics prove that no row of a row group meets the condition. `None` if statistics
/// do not prove it.
pub(in crate::lake::scan) fn refutation(file: &OpenFile, group: usize, condition: &Prune) -> Option<Arc<str>> {
    let alone = |condition: &Prune| prune(file, group, condition).is_empty();
    match condition {
        Prune::And(parts) => match parts.iter().find_map(|part| refutation(file, group, part)) {
            Some(reason) => Some(reason),
            None => alone(condition).then(|| "pages of several leaves together".into()),
        },
        Prune::Nothing => Some("nothing can match".into()),
        Prune::Or(parts) => alone(condition).then(|| {
            let leaves: BTreeSet<&str> = parts.iter().flat_map(Prune::leaves).collect();
            let leaves: Vec<&str> = leaves.into_iter().collect();
            format!("statistics of {}", leaves.join(" and ")).into()
        }),
        Prune::Keep => None,
        one => alone(condition).then(|| format!("statistics of {}", one.leaves().join(" and ")).into()),
    }
}

fn prune_leaf(
    file: &OpenFile,
    group: usize,
    path: &str,
    condition: &Prune,
    report: &mut Option<&mut ScanReport>,
) -> Ranges {
    let metadata: &RowGroupMetaData = file.metadata().row_group(group);
    let rows = file.groups()[group].rows;
    if matches!(condition, Prune::Range { .. }) && !has_all_numbers(file, group, path) {
        return Ranges::all(rows);
    }
    let Some(leaf) = file.leaf(path) else {
        // The file has no leaf of this path. If the path is that of a struct, the leaves below it may have values, so
        // keep all rows. Otherwise no row has a value.
        let inner = format!("{path}.");
        let any = file.paths().iter().any(|have| have.starts_with(&inner));
        return if any { Ranges::all(rows) } else { Ranges::default() };
    };
    if !may_hold(&Bounds::of_chunk(metadata.column(leaf)), condition) {
        return Ranges::default();
    }
    let index = file
        .metadata()
        .column_index()
        .and_then(|index| index.get(group)?.get(leaf));
    let (Some(index), Some(pages)) = (index, file.pages(group, leaf)) else {
        return Ranges::all(rows);
    };
    let repeats = metadata.column(leaf).column_descr().max_rep_level() > 0;
    let (mut kept, mut left) = (Ranges::default(), 0);
    for (at, page) in pages.iter().enumerate() {
        let end = pages.get(at + 1).map_or(rows, |next| next.first_row_index as u32);
        if may_hold(&Bounds::of_page(index, at, repeats), condition) {
            kept.push(page.first_row_index as u32..end);
            left += 1;
        }
    }
    if let Some(report) = report {
        let (met, refuted) = (pages.len(), pages.len() - left);
        report.paged(path, Pages { met, refuted });
    }
    kept
}

/// What statistics say about the values of a leaf in a row group or a page.
enum Bounds<'a> {
    /// All rows lack a value, so no condition on the leaf holds.
    Empty,
    /// Nothing is known about the values.
    Unknown,
    /// The values are numbers between these bounds, both included.
    Numbers(i128, i128),
    /// The values are byte strings between these bounds, both included. The lower bound may be a prefix of the minimum.
    /// The upper bound may be a prefix of the maximum, incremented by one.
    Bytes(&'a [u8], &'a [u8]),
}

fn may_hold(bounds: &Bounds, condition: &Prune) -> bool {
    match (bounds, condition) {
        (Bounds::Empty, _) => false,
        (Bounds::Bytes(min, max), Prune::Text { any_of, .. }) => any_of
            .iter()
            .any(|text| *min <= text.as_bytes() && text.as_bytes() <= *max),
        (Bounds::Numbers(min, max), Prune::Range { from, to, .. }) => {
            from.is_none_or(|from| *max >= from) && to.is_none_or(|to| *min <= to)
        }
        (Bounds::Numbers(min, max), Prune::Flag { is, .. }) => (*min..=*max).contains(&i128::from(*is)),
        _ => true,
    }
}

impl<'a> Bounds<'a> {
    fn of_chunk(chunk: &'a ColumnChunkMetaData) -> Bounds<'a> {
        let Some(statistics) = chunk.statistics() else {
            return Bounds::Unknown;
        };
        if statistics.null_count_opt() == Some(chunk.num_values() as u64) {
            return Bounds::Empty;
        }
        match statistics {
            Statistics::Boolean(values) => numbers(values.min_opt(), values.max_opt()),
            Statistics::Int32(values) => numbers(values.min_opt(), values.max_opt()),
            Statistics::Int64(values) => numbers(values.min_opt(), values.max_opt()),
            Statistics::ByteArray(values) => match (values.min_opt(), values.max_opt()) {
                (Some(min), Some(max)) => Bounds::Bytes(min.as_bytes(), max.as_bytes()),
                _ => Bounds::Unknown,
            },
            Statistics::FixedLenByteArray(values) => match (values.min_opt(), values.max_opt()) {
                (Some(min), Some(max)) => decimals(min.as_bytes(), max.as_bytes()),
                _ => Bounds::Unknown,
            },
            _ => Bounds::Unknown,
        }
    }

    /// Returns the bounds of a page. In columns of lists, writers such as arrow-rs 59 mark a page as a null page if it
    /// has as many nulls as rows, even if it also has values. They write no bounds for such a page. So if the column
    /// `repeats`, only the histogram of definition levels proves that the page has no value.
    fn of_page(index: &'a ColumnIndexMetaData, page: usize, repeats: bool) -> Bounds<'a> {
        if !matches!(index, ColumnIndexMetaData::NONE) && index.is_null_page(page) {
            let defined = index.definition_level_histogram(page).and_then(<[i64]>::last);
            return match defined {
                Some(0) => Bounds::Empty,
                None if !repeats => Bounds::Empty,
                _ => Bounds::Unknown,
            };
        }
        match index {
            ColumnIndexMetaData::BOOLEAN(index) => numbers(index.min_value(page), index.max_value(page)),
            ColumnIndexMetaData::INT32(index) => numbers(index.min_value(page), index.max_value(page)),
            ColumnIndexMetaData::INT64(index) => numbers(index.min_value(page), index.max_value(page)),
            ColumnIndexMetaData::BYTE_ARRAY(index) => match (index.min_value(page), index.max_value(page)) {
                (Some(min), Some(max)) => Bounds::Bytes(min, max),
                _ => Bounds::Unknown,
            },
            ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => match (index.min_value(page), index.max_value(page)) {
                (Some(min), Some(max)) => decimals(min, max),
                _ => Bounds::Unknown,
            },
            _ => Bounds::Unknown,
        }
    }
}

/// The statistics of a leaf's values in a row group or a page.
pub(in crate::lake::scan) struct Extent<'a> {
    bounds: Bounds<'a>,
    /// The number of slots (values and nulls) at each definition level, if the file has this histogram.
    levels: Option<&'a [i64]>,
}

impl Extent<'_> {
    /// Returns the statistics of a leaf in a row group. `None` if the file lacks the leaf.
    pub(in crate::lake::scan) fn of_group<'a>(file: &'a OpenFile, group: usize, path: &str) -> Option<Extent<'a>> {
        let chunk = file.metadata().row_group(group).column(file.leaf(path)?);
        let levels = chunk.definition_level_histogram().map(|histogram| histogram.values());
        Some(Extent {
            bounds: Bounds::of_chunk(chunk),
            levels,
        })
    }

    /// Returns the statistics of a leaf in a page.
    pub(in crate::lake::scan) fn of_page(file: &OpenFile, group: usize, leaf: usize, page: usize) -> Extent<'_> {
        let index = file
            .metadata()
            .column_index()
            .and_then(|index| index.get(group)?.get(leaf));
        let column = file.metadata().row_group(group).column(leaf).column_descr();
        let levels = index.and_then(|index| index.definition_level_histogram(page));
        Extent {
            bounds: index.map_or(Bounds::Unknown, |index| {
                Bounds::of_page(index, page, column.max_rep_level() > 0)
            }),
            levels,
        }
    }

    /// Whether statistics prove that there is no value.
    pub(in crate::lake::scan) fn is_empty(&self) -> bool {
        matches!(self.bounds, Bounds::Empty)
    }

    /// Whether statistics prove that every item has a value in the leaf.
    pub(in crate::lake::scan) fn is_complete(&self) -> bool {
        self.levels.is_some_and(is_complete)
    }

    /// Whether statistics prove that every slot has a value.
    pub(in crate::lake::scan) fn is_everywhere(&self) -> bool {
        let without = self
            .levels
            .and_then(|levels| levels.split_last())
            .map(|(_, without)| without);
        without.is_some_and(|without| without.iter().all(|slots| *slots == 0))
    }

    /// Returns the minimum and the maximum, if they are known numbers.
    pub(in crate::lake::scan) fn numbers(&self) -> Option<(i128, i128)> {
        match self.bounds {
            Bounds::Numbers(min, max) => Some((min, max)),
            _ => None,
        }
    }
}

/// Whether a histogram of definition levels proves that every item has a value in the leaf. An item without a value has
/// the definition level one below the maximum.
pub(in crate::lake::scan) fn is_complete(levels: &[i64]) -> bool {
    levels.len() >= 2 && levels[levels.len() - 2] == 0
}

fn numbers<T: Copy + Into<i128>>(min: Option<&T>, max: Option<&T>) -> Bounds<'static> {
    match (min, max) {
        (Some(min), Some(max)) => Bounds::Numbers((*min).into(), (*max).into()),
        _ => Bounds::Unknown,
    }
}

fn decimals(min: &[u8], max: &[u8]) -> Bounds<'static> {
    match (decimal(min), decimal(max)) {
        (Some(min), Some(max)) => Bounds::Numbers(min, max),
        _ => Bounds::Unknown,
    }
}

/// Whether every decimal of a row group has a value in its `__number` leaf, which is at `path`. If a decimal has only a
/// text, statistics of the numbers do not cover it, so they cannot refute a range. Also `true` if `path` is no
/// `__number` leaf, or if the file lacks the leaf of the texts.
pub(in crate::lake::scan) fn has_all_numbers(file: &OpenFile, group: usize, path: &str) -> bool {
    let text = path.strip_suffix(NUMBER).and_then(|text| file.leaf(text));
    let nulls = |leaf: usize| {
        let statistics = file.metadata().row_group(group).column(leaf).statistics();
        statistics.and_then(|statistics| statistics.null_count_opt())
    };
    // If both leaves have equally many nulls, no decimal has only a text.
    text.is_none_or(|text| {
        file.leaf(path)
            .is_some_and(|number| nulls(text).is_some() && nulls(text) == nulls(number))
    })
}

/// Decodes a big-endian two's complement number. `None` if it is empty or longer than 16 bytes.
pub(in crate::lake::scan) fn decimal(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut wide = [sign; 16];
    let at = 16usize.checked_sub(bytes.len())?;
    wide[at..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

/// Whether the statistics in the footer allow that a row group has rows of one of these owners.
pub(in crate::lake::scan) fn may_hold_owners(file: &OpenFile, group: usize, owners: &OwnerSet) -> bool {
    let Some(leaf) = file.leaf("owner") else { return true };
    match Bounds::of_chunk(file.metadata().row_group(group).column(leaf)) {
        Bounds::Numbers(min, max) => !owners.within(&(min as i64..=max as i64)).is_empty(),
        _ => true,
    }
}

/// Returns the lowest and the highest owner of a row group. Without statistics, returns the bounds of `i64`. `None` if
/// no row has an owner.
pub(in crate::lake::scan) fn owner_bounds(file: &OpenFile, group: usize) -> Option<RangeInclusive<i128>> {
    let all = i128::from(i64::MIN)..=i128::from(i64::MAX);
    let Some(leaf) = file.leaf("owner") else {
        return Some(all);
    };
    match Bounds::of_chunk(file.metadata().row_group(group).column(leaf)) {
        Bounds::Numbers(min, max) => Some(min..=max),
        Bounds::Empty => None,
        _ => Some(all),
    }
}

/// Whether the footer alone proves that all rows of a row group belong to this application.
pub(in crate::lake::scan) fn proves_application(file: &OpenFile, group: usize, application: &str) -> bool {
    let Some(leaf) = file.leaf("application") else {
        return false;
    };
    match file.metadata().row_group(group).column(leaf).statistics() {
        Some(Statistics::ByteArray(values)) => {
            values.null_count_opt() == Some(0)
                && values.min_is_exact()
                && values.max_is_exact()
                && values
                    .min_opt()
                    .is_some_and(|min| min.as_bytes() == application.as_bytes())
                && values
                    .max_opt()
                    .is_some_and(|max| max.as_bytes() == application.as_bytes())
        }
        _ => false,
    }
}
