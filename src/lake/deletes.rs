//! Delete files: the positions of deleted rows in a data file, in the format of DuckLake and Iceberg. A delete file
//! is a Parquet file with the columns `file_path` and `pos`, ascending by position.
//!
//! A data file has at most one live delete file. So a new delete file has the newly deleted positions and all positions
//! of the delete file that it replaces.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY, ProjectionMask};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::error::LakeError;
use super::file::{CheckedFile, seal, unsealed};
use super::seal::{FileKey, Keys, encryption};
use crate::private;

/// The suffix of a delete file's name.
pub(super) const SUFFIX: &str = "-delete.parquet";

/// The field ids that Iceberg reserves for the two columns.
const FILE_PATH_ID: &str = "2147483546";
const POS_ID: &str = "2147483545";

/// The facts that the catalog records about a delete file.
#[derive(Clone, Debug)]
pub(super) struct WrittenDeletes {
    pub(super) bytes: u64,
    pub(super) footer_size: u64,
    /// The key that seals the file, or `None` if the file is unencrypted. The key must be stored before the commit.
    pub(super) key: Option<FileKey>,
}

/// Reads the deleted positions from a delete file. Fails if they do not ascend, or if one occurs twice.
pub fn read(path: &Path, keys: &Keys) -> Result<Vec<u64>, LakeError> {
    read_columns(path, keys, &["pos"]).map(|(_, positions)| positions)
}

/// Reads two things from a delete file: the path of its data file below `data/`, and the deleted positions. The path is
/// `None` if the delete file has no position.
pub(super) fn read_named(path: &Path, keys: &Keys) -> Result<(Option<String>, Vec<u64>), LakeError> {
    read_columns(path, keys, &["file_path", "pos"])
}

fn read_columns(path: &Path, keys: &Keys, columns: &[&str]) -> Result<(Option<String>, Vec<u64>), LakeError> {
    let builder = CheckedFile::open(path, keys)?.rows(path)?;
    let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
    let reader = builder
        .with_projection(mask)
        .build()
        .map_err(LakeError::parquet("read", path))?;
    let mut named: Option<String> = None;
    let mut positions: Vec<u64> = Vec::new();
    for batch in reader {
        let batch = batch.map_err(LakeError::parquet("read", path))?;
        if let Some(names) = batch.column_by_name("file_path") {
            for name in names.as_string_opt::<i32>().ok_or_else(|| damaged(path))?.iter() {
                let name = name.ok_or_else(|| damaged(path))?;
                match &named {
                    Some(known) if known != name => return Err(damaged(path)),
                    Some(_) => {}
                    None => named = Some(name.to_owned()),
                }
            }
        }
        let column = batch.column_by_name("pos");
        let column = column.and_then(|column| column.as_primitive_opt::<Int64Type>());
        for pos in column.ok_or_else(|| damaged(path))?.iter() {
            let pos = pos
                .and_then(|pos| u64::try_from(pos).ok())
                .ok_or_else(|| damaged(path))?;
            if positions.last().is_some_and(|last| *last >= pos) {
                return Err(damaged(path));
            }
            positions.push(pos);
        }
    }
    Ok((named, positions))
}

/// Writes the delete file of `data_file`, given by its path below `data/`. `positions` must ascend without
/// duplicates.
pub(super) fn write(path: &Path, data_file: &str, positions: &[u64], keys: &Keys) -> Result<WrittenDeletes, LakeError> {
    let id = |id: &str| [(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_owned())].into();
    let schema = Arc::new(Schema::new(vec![
        Field::new("file_path", DataType::Utf8, false).with_metadata(id(FILE_PATH_ID)),
        Field::new("pos", DataType::Int64, false).with_metadata(id(POS_ID)),
    ]));
    let key = keys.make()?;
    let properties = WriterProperties::builder().set_compression(Compression::LZ4_RAW);
    let properties = match &key {
        Some(key) => {
            let sealed = encryption(key).map_err(LakeError::parquet("write", path))?;
            properties.with_file_encryption_properties(sealed)
        }
        None => properties.set_key_value_metadata(Some(vec![unsealed(0)])),
    };
    let file = private::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(LakeError::io("write", path))?;
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build()))
        .map_err(LakeError::parquet("write", path))?;
    for part in positions.chunks(65_536) {
        let paths = StringArray::from_iter_values(std::iter::repeat_n(data_file, part.len()));
        let pos = Int64Array::from_iter_values(part.iter().map(|pos| *pos as i64));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(paths), Arc::new(pos)])
            .map_err(LakeError::parquet("write", path))?;
        writer.write(&batch).map_err(LakeError::parquet("write", path))?;
    }
    let file = writer.into_inner().map_err(LakeError::parquet("write", path))?;
    if key.is_none() {
        // Write one checksum of the whole file, because a delete file is always read completely.
        seal(&file, 0).map_err(LakeError::io("write", path))?;
    }
    let (bytes, footer_size) = measure(&file).map_err(LakeError::io("read", path))?;
    Ok(WrittenDeletes {
        bytes,
        footer_size,
        key,
    })
}

/// Returns the size of the file, and the size of its Parquet footer. The last eight bytes of the file are the size of
/// the footer and a magic number.
fn measure(file: &std::fs::File) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::FileExt;
    let bytes = file.metadata()?.len();
    let mut length = [0; 4];
    file.read_exact_at(&mut length, bytes.saturating_sub(8))?;
    Ok((bytes, u64::from(u32::from_le_bytes(length))))
}

fn damaged(path: &Path) -> LakeError {
    LakeError::Damaged(format!("{} is no list of ascending positions", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deletes.parquet");
        let positions: Vec<u64> = (0..100_000).map(|n| n * 3).collect();
        let written = write(&path, "live/Patient/a.parquet", &positions, &Keys::none()).unwrap();
        assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
        assert!(written.footer_size > 0 && written.footer_size < written.bytes);
        assert_eq!(read(&path, &Keys::none()).unwrap(), positions);
    }

    #[test]
    fn unordered_positions_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deletes.parquet");
        write(&path, "live/Patient/a.parquet", &[2, 1], &Keys::none()).unwrap();
        assert!(matches!(read(&path, &Keys::none()), Err(LakeError::Damaged(_))));
    }
}
