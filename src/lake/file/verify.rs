//! Checks a whole file: every page against its checksum, and every row's text against its digest.

use std::path::Path;

use arrow::array::{Array, AsArray, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::metadata::PageIndexPolicy;

use super::checked::CheckedFile;
use super::digest::{is_blank, stored_digest};
use super::weight::row_bytes;
use crate::columns::json::Tape;
use crate::lake::error::LakeError;
use crate::lake::seal::Keys;

/// The approximate bytes of decoded rows in memory. A single row may be larger.
const BATCH_BYTES: u64 = 8 << 20;

/// The verified parts of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The number of verified pages. 0 for a file without checksums.
    pub pages: u64,
    /// The number of rows whose text was compared with its digest. 0 if only pages were verified.
    pub rows: u64,
}

/// Verifies every page of a data file, and the bytes after them, without decoding rows. A file without checksums is
/// checked with [`verify`] instead.
pub fn verify_checksums(path: &Path, keys: &Keys) -> Result<Verified, LakeError> {
    let file = CheckedFile::open(path, keys)?;
    if !file.has_checksums() {
        return verify(path, keys);
    }
    let pages = file.check_pages().map_err(LakeError::parquet("read", path))?;
    Ok(Verified { pages, rows: 0 })
}

/// Verifies every page of a data file, and compares each resource with its digest. The error names the file and the
/// first damage found.
pub fn verify(path: &Path, keys: &Keys) -> Result<Verified, LakeError> {
    let failed = || LakeError::parquet("read", path);
    let file = CheckedFile::open(path, keys)?;
    let pages = file.check_pages().map_err(failed())?;
    let has_checksums = file.has_checksums();
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = file.metadata(path, options)?;
    let groups = 0..metadata.metadata().num_row_groups();
    let heaviest = groups.map(|group| row_bytes(metadata.metadata(), group)).max();
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    // Without checksums at least decode every column.
    let mask = if has_checksums {
        ProjectionMask::columns(builder.parquet_schema(), ["id", "digest", "resource"])
    } else {
        ProjectionMask::all()
    };
    let reader = builder
        .with_projection(mask)
        .with_batch_size((BATCH_BYTES / heaviest.unwrap_or(1).max(1)).clamp(1, 1_024) as usize)
        .build()
        .map_err(failed())?;
    let mut rows = 0;
    for batch in reader {
        let batch = batch.map_err(LakeError::parquet("read", path))?;
        rows += check_digests(&batch).map_err(failed())?;
    }
    Ok(Verified { pages, rows })
}

/// Compares the text of each row with its digest, except in blank rows. Returns how many rows were compared.
pub(in crate::lake) fn check_digests(batch: &RecordBatch) -> Result<u64, ParquetError> {
    let column = |name: &str| {
        let column = batch.column_by_name(name);
        column.ok_or_else(|| ParquetError::General(format!("there is no column {name}")))
    };
    let (ids, digests, resources) = (column("id")?, column("digest")?, column("resource")?);
    let (Some(ids), Some(digests), Some(resources)) = (
        ids.as_string_opt::<i32>(),
        digests.as_binary_opt::<i32>(),
        resources.as_string_opt::<i32>(),
    ) else {
        return Err(ParquetError::General(
            "a column of texts holds something else".to_owned(),
        ));
    };
    let (mut tape, mut compared) = (Tape::new(), 0);
    for row in (0..batch.num_rows()).filter(|row| !is_blank(ids.value(*row))) {
        if digests.is_null(row) || digests.value(row) != stored_digest(resources.value(row).as_bytes(), &mut tape) {
            return Err(ParquetError::General("a resource differs from its digest".to_owned()));
        }
        compared += 1;
    }
    Ok(compared)
}
