//! Compares one file with the catalog's record of it.

use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::statistics::Statistics;

use super::report::{Depth, Problem};
use super::stored::{StoredData, StoredDeletes};
use crate::columns::layout::LAYOUT_VERSION;
use crate::lake::deletes;
use crate::lake::file::{CheckedFile, LAYOUT_VERSION_KEY, RESOURCE_TYPE_KEY, verify, verify_checksums};
use crate::lake::seal::{FileKey, Keys, SEALED_MAGIC};
use crate::private;

/// Returns the first fault of a data file. `None` if it has none.
pub(super) fn data_file(stored: &StoredData, depth: Depth, keys: &Keys) -> Option<Problem> {
    if let Err(problem) = sized(&stored.path, stored.bytes, stored.footer_size) {
        return Some(problem);
    }
    let opened = CheckedFile::open(&stored.path, keys)
        .and_then(|file| Ok((file.metadata(&stored.path, ArrowReaderOptions::new())?, file)));
    let (metadata, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return Some(Problem::Unreadable(error.to_string())),
    };
    if let Some(differs) = contents(stored, metadata.metadata(), file.key()) {
        return Some(Problem::Contents(differs));
    }
    let verified = match depth {
        Depth::Checksums => verify_checksums(&stored.path, keys),
        Depth::Rows => verify(&stored.path, keys),
    };
    verified.err().map(|error| Problem::Unreadable(error.to_string()))
}

fn contents(stored: &StoredData, metadata: &ParquetMetaData, key: Option<&FileKey>) -> Option<String> {
    if key.map(|key| key.id().to_string()) != stored.key {
        return Some("is sealed under another key than is recorded".to_owned());
    }
    let file = metadata.file_metadata();
    let rows = u64::try_from(file.num_rows()).unwrap_or(0);
    if rows != stored.rows {
        return Some(format!("has {rows} rows, {} are recorded", stored.rows));
    }
    for (key, expected) in [
        (LAYOUT_VERSION_KEY, LAYOUT_VERSION.to_string()),
        (RESOURCE_TYPE_KEY, stored.table.clone()),
    ] {
        let found = footer_value(metadata, key);
        if found != Some(&expected) {
            let found = found.map_or("nothing", String::as_str);
            return Some(format!("says {found} of {key}, where {expected} is recorded"));
        }
    }
    let roots = file.schema_descr().root_schema().get_fields();
    let mut ids: Vec<i32> = roots.iter().filter_map(id).collect();
    let mut recorded: Vec<i32> = stored.columns.iter().map(|(id, _)| *id).collect();
    ids.sort_unstable();
    recorded.sort_unstable();
    // For a sealed file the catalog records only three of the columns, so the file may have more columns.
    let are_recorded = match key {
        Some(_) => recorded.iter().all(|id| ids.binary_search(id).is_ok()),
        None => ids == recorded,
    };
    if !are_recorded {
        return Some("has other columns than are recorded".to_owned());
    }
    if stored
        .columns
        .iter()
        .any(|(id, recorded)| nulls(metadata, *id).is_some_and(|found| found != *recorded))
    {
        return Some("has other counts of nulls than are recorded".to_owned());
    }
    for (column, bounds) in ["owner", "version", "last_updated"].iter().zip(&stored.bounds) {
        let (Some(bounds), Some(found)) = (bounds, range(metadata, column)) else {
            continue;
        };
        if found.start() < bounds.start() || found.end() > bounds.end() {
            return Some(format!(
                "has values of {column} outside of the bounds that are recorded"
            ));
        }
    }
    None
}

/// Returns the first fault of a delete file. `None` if it has none.
pub(super) fn delete_file(stored: &StoredDeletes, keys: &Keys) -> Option<Problem> {
    if let Err(problem) = sized(&stored.path, stored.bytes, stored.footer_size) {
        return Some(problem);
    }
    let (about, positions) = match deletes::read_named(&stored.path, keys) {
        Ok(read) => read,
        Err(error) => return Some(Problem::Unreadable(error.to_string())),
    };
    let found = positions.len() as u64;
    if found != stored.count {
        return Some(Problem::Contents(format!(
            "deletes {found} rows, {} are recorded",
            stored.count
        )));
    }
    if positions.last().is_some_and(|last| *last >= stored.data_rows) {
        return Some(Problem::Contents(
            "deletes rows that the data file does not have".to_owned(),
        ));
    }
    let about = about.filter(|about| *about != stored.data_file)?;
    Some(Problem::Contents(format!(
        "is about {about}, where {} is recorded",
        stored.data_file
    )))
}

/// Compares the sizes of a file and of its footer with the recorded sizes. Returns the first difference as the error.
fn sized(path: &Path, bytes: u64, footer_size: u64) -> Result<(), Problem> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Problem::Missing,
        _ => Problem::Unreadable(error.to_string()),
    };
    let file = private::open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?.len();
    if found != bytes {
        let recorded = bytes;
        return Err(Problem::Size { recorded, found });
    }
    let mut end = [0; 8];
    file.read_exact_at(&mut end, bytes.saturating_sub(8))
        .map_err(unreadable)?;
    let length = u32::from_le_bytes([end[0], end[1], end[2], end[3]]);
    let is_parquet = [*b"PAR1", *SEALED_MAGIC].contains(&[end[4], end[5], end[6], end[7]]);
    if is_parquet && u64::from(length) == footer_size {
        Ok(())
    } else {
        Err(Problem::Contents("has another footer than is recorded".to_owned()))
    }
}

/// Returns the value of a key in a file's footer.
fn footer_value<'m>(metadata: &'m ParquetMetaData, key: &str) -> Option<&'m String> {
    let values = metadata.file_metadata().key_value_metadata()?;
    values.iter().find(|value| value.key == key)?.value.as_ref()
}

fn id(root: &parquet::schema::types::TypePtr) -> Option<i32> {
    let info = root.get_basic_info();
    info.has_id().then(|| info.id())
}

/// Returns the number of rows in which a top-level column is null, from the statistics of the row groups. `None`
/// without statistics, and for a column that is not a single leaf with one value per row.
fn nulls(metadata: &ParquetMetaData, id: i32) -> Option<u64> {
    let schema = metadata.file_metadata().schema_descr();
    let is_it = |leaf: &parquet::schema::types::ColumnDescPtr| {
        let info = leaf.self_type().get_basic_info();
        leaf.path().parts().len() == 1 && leaf.max_rep_level() == 0 && info.has_id() && info.id() == id
    };
    let at = schema.columns().iter().position(is_it)?;
    let counts = metadata
        .row_groups()
        .iter()
        .map(|group| group.column(at).statistics()?.null_count_opt());
    counts.sum()
}

/// Returns the lowest and the greatest value of an integer column, from the statistics of the row groups. `None`
/// without statistics.
fn range(metadata: &ParquetMetaData, column: &str) -> Option<RangeInclusive<i64>> {
    let columns = metadata.file_metadata().schema_descr().columns();
    let at = columns.iter().position(|leaf| leaf.path().parts() == [column])?;
    let mut range: Option<RangeInclusive<i64>> = None;
    for group in metadata.row_groups() {
        let Some(Statistics::Int64(values)) = group.column(at).statistics() else {
            return None;
        };
        let (min, max) = (*values.min_opt()?, *values.max_opt()?);
        range = Some(match range {
            Some(range) => min.min(*range.start())..=max.max(*range.end()),
            None => min..=max,
        });
    }
    range
}
