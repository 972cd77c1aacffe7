//! Searches for erased ids in every string of a rewritten file, which is read again from the disk. Also counts the
//! attachment files that still belong to the person.

use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type;
use parquet::file::metadata::PageIndexPolicy;
use rustc_hash::FxHashMap;

use super::evidence::Searched;
use super::identifiers::Identifiers;
use crate::lake::attachment::{TABLE, is_attachment, name_begin, read_trailer};
use crate::lake::error::LakeError;
use crate::lake::file::{CheckedFile, row_bytes};
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Scope;
use crate::lake::seal::Keys;
use crate::lake::store::folder::Folder;
use crate::lake::store::survey::files_below;

/// The approximate bytes of decoded rows in memory. A single row may be larger.
const BATCH_BYTES: u64 = 8 << 20;

/// Searches every string of a data file for ids. Each entry of `asked` has an application and the number of a subject.
/// For each entry, in the same order, returns how many strings the application's rows have, and how many of these
/// strings contain an id of the subject.
pub(super) fn search_file(
    (path, keys): (&Path, &Keys),
    resource_type: &str,
    identifiers: &Identifiers,
    asked: &[(&str, u32)],
) -> Result<Vec<Searched>, LakeError> {
    let failed = || LakeError::parquet("read", path);
    let file = CheckedFile::open(path, keys)?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Skip);
    let metadata = file.metadata(path, options)?;
    let groups = 0..metadata.metadata().num_row_groups();
    let heaviest = groups.map(|group| row_bytes(metadata.metadata(), group)).max();
    let rows = (BATCH_BYTES / heaviest.unwrap_or(1).max(1)).clamp(1, 1_024) as usize;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata).with_batch_size(rows);
    let leaves = reader.parquet_schema().columns().iter().enumerate();
    let texts = leaves.filter(|(_, leaf)| leaf.physical_type() == Type::BYTE_ARRAY);
    let texts = ProjectionMask::leaves(reader.parquet_schema(), texts.map(|(leaf, _)| leaf));
    let reader = reader.with_projection(texts);
    let mut applications: Vec<&str> = asked.iter().map(|(application, _)| *application).collect();
    applications.sort_unstable();
    applications.dedup();
    let mut searched = vec![Searched::default(); asked.len()];
    for batch in reader.build().map_err(failed())? {
        let batch = batch.map_err(LakeError::parquet("read", path))?;
        for application in &applications {
            let own = of_application(&batch, application).map_err(LakeError::parquet("read", path))?;
            let (mut values, mut found, mut here) = (0, FxHashMap::<u32, u64>::default(), Vec::new());
            for (field, column) in own.schema().fields().iter().zip(own.columns()) {
                let is_id = field.name() == "id";
                each_text(column, &mut |text| {
                    values += 1;
                    here.clear();
                    identifiers.in_text(text, |whose| here.push(whose));
                    if is_id {
                        here.extend(identifiers.whose(resource_type, text));
                    }
                    // A string counts once for each subject whose ids it contains.
                    here.sort_unstable();
                    here.dedup();
                    here.iter().for_each(|whose| *found.entry(*whose).or_default() += 1);
                });
            }
            for ((asked, number), searched) in asked.iter().zip(&mut searched) {
                if asked == application {
                    searched.values += values;
                    searched.found += found.get(number).copied().unwrap_or(0);
                }
            }
        }
    }
    Ok(searched)
}

/// Returns the rows of a batch that belong to an application. Ids in rows of other applications do not count, because
/// another application may have the same ids. If the batch has no `application` column, returns all rows.
fn of_application(batch: &RecordBatch, application: &str) -> Result<RecordBatch, arrow::error::ArrowError> {
    let column = batch.column_by_name("application");
    let Some(column) = column.and_then(|column| column.as_string_opt::<i32>()) else {
        return Ok(batch.clone());
    };
    let own: BooleanArray = column.iter().map(|value| Some(value == Some(application))).collect();
    if own.true_count() == batch.num_rows() {
        Ok(batch.clone())
    } else {
        filter_record_batch(batch, &own)
    }
}

/// Calls `found` for every string of a column, at any depth.
fn each_text(column: &ArrayRef, found: &mut dyn FnMut(&str)) {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().flatten().for_each(found),
        DataType::LargeUtf8 => column.as_string::<i64>().iter().flatten().for_each(found),
        DataType::Utf8View => column.as_string_view().iter().flatten().for_each(found),
        DataType::Struct(_) => column
            .as_struct()
            .columns()
            .iter()
            .for_each(|child| each_text(child, found)),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            let (first, last) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
            each_text(&list.values().slice(first as usize, (last - first) as usize), found);
        }
        _ => {}
    }
}

/// Returns for each scope the number of attachment files in its mode, and how many of them belong to the scope's
/// person. If a file's name begins like those of the person's files and its trailer cannot be read, the file counts as
/// one of the person's.
pub(super) fn search_attachments(folder: &Folder, key: OwnerKey, scopes: &[Scope]) -> Result<Vec<Searched>, LakeError> {
    let mut searched = vec![Searched::default(); scopes.len()];
    let mut modes: Vec<_> = scopes.iter().map(|scope| scope.mode).collect();
    modes.sort_unstable();
    modes.dedup();
    for mode in modes {
        let mut paths = Vec::new();
        files_below(&folder.table(mode, TABLE), &mut |path, _| {
            paths.extend(Some(path).filter(|path| is_attachment(path)));
        })?;
        for (scope, searched) in scopes.iter().zip(&mut searched).filter(|(scope, _)| scope.mode == mode) {
            searched.values += paths.len() as u64;
            let owners = scope.patient.iter().flat_map(|patient| &patient.owners);
            let begins: Vec<String> = owners
                .map(|owner| name_begin(key, mode, &scope.application, *owner))
                .collect();
            let may_be = |path: &&std::path::PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                begins.iter().any(|begin| name.starts_with(begin))
            };
            let own = paths
                .iter()
                .filter(may_be)
                .filter(|path| match read_trailer(path, folder.keys()) {
                    Ok(trailer) => trailer.is_of(scope),
                    Err(_) => path.exists(),
                });
            searched.found += own.count() as u64;
        }
    }
    Ok(searched)
}
