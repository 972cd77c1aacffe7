//! Reads the lake's existing rows by id, and its identifiers by type, directly from Parquet files.
//!
//! An import uses this for older files and for files that it has just written. All other readers use `lake::scan`.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::error::IngestError;
use crate::lake::file::CheckedFile;
use crate::lake::{Keys, LakeError};

/// A set of row positions.
#[derive(Clone, Debug, Default)]
pub(in crate::ingest) struct Rows {
    words: Vec<u64>,
    count: u64,
}

impl Rows {
    pub(in crate::ingest) fn insert(&mut self, row: u64) {
        let at = (row / 64) as usize;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (row % 64);
        self.count += u64::from(self.words[at] & bit == 0);
        self.words[at] |= bit;
    }

    pub(in crate::ingest) fn remove(&mut self, row: u64) {
        if self.contains(row) {
            self.words[(row / 64) as usize] &= !(1 << (row % 64));
            self.count -= 1;
        }
    }

    pub(in crate::ingest) fn contains(&self, row: u64) -> bool {
        self.words
            .get((row / 64) as usize)
            .is_some_and(|word| word & (1 << (row % 64)) != 0)
    }

    pub(in crate::ingest) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(in crate::ingest) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let bits = |word: u64| (0..64).filter(move |bit| word & (1 << bit) != 0);
        self.words
            .iter()
            .enumerate()
            .flat_map(move |(at, word)| bits(*word).map(move |bit| at as u64 * 64 + bit))
    }
}

impl FromIterator<u64> for Rows {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        let mut set = Self::default();
        rows.into_iter().for_each(|row| set.insert(row));
        set
    }
}

/// An existing row with a wanted id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) struct KnownRow {
    /// The row's position in its file.
    pub(in crate::ingest) row: u64,
    pub(in crate::ingest) version: i64,
    pub(in crate::ingest) digest: [u8; 16],
}

/// A data file that is being read.
pub(in crate::ingest) struct Opened<'p> {
    path: &'p Path,
    file: CheckedFile,
    metadata: ArrowReaderMetadata,
}

impl<'p> Opened<'p> {
    pub(in crate::ingest) fn open(path: &'p Path, keys: &Keys) -> Result<Self, IngestError> {
        let file = CheckedFile::open(path, keys)?;
        let metadata = file.metadata(path, ArrowReaderOptions::new())?;
        Ok(Self { path, file, metadata })
    }

    /// Finds the application's rows whose id is in `wanted`. For each of them, calls `found` with the number that
    /// `wanted` has for the id, and with the row's position, version and digest.
    pub(in crate::ingest) fn find(
        &self,
        application: &str,
        wanted: &FxHashMap<&str, u32>,
        mut found: impl FnMut(u32, KnownRow),
    ) -> Result<(), IngestError> {
        let mut first = 0u64;
        for group in 0..self.metadata.metadata().num_row_groups() {
            let rows = self.metadata.metadata().row_group(group).num_rows() as u64;
            if self.may_hold(group, wanted)? {
                let mut row = first;
                for batch in self.read(group, &["id", "application", "version", "digest"])? {
                    let batch = batch?;
                    let (ids, applications) = (self.texts(&batch, "id")?, self.texts(&batch, "application")?);
                    let version = self.column(&batch, "version")?.as_primitive_opt::<Int64Type>();
                    let digest = self.column(&batch, "digest")?.as_binary_opt::<i32>();
                    let (Some(version), Some(digest)) = (version, digest) else {
                        return Err(self.unreadable("version or digest"));
                    };
                    for at in 0..batch.num_rows() {
                        if let Some(place) = wanted.get(ids.value(at))
                            && applications.value(at) == application
                        {
                            let digest = digest.value(at).try_into().unwrap_or_default();
                            found(
                                *place,
                                KnownRow {
                                    row: row + at as u64,
                                    version: version.value(at),
                                    digest,
                                },
                            );
                        }
                    }
                    row += batch.num_rows() as u64;
                }
            }
            first += rows;
        }
        Ok(())
    }

    /// Calls `visit` for each row of the application with one of these ids: its position, its id, its owner, and the
    /// Patient under which it is filed.
    pub(in crate::ingest) fn filed(
        &self,
        application: &str,
        wanted: &FxHashSet<String>,
        mut visit: impl FnMut(u64, &str, i64, Option<&str>),
    ) -> Result<(), IngestError> {
        let ids: FxHashMap<&str, u32> = wanted.iter().map(|id| (id.as_str(), 0)).collect();
        let mut first = 0u64;
        for group in 0..self.metadata.metadata().num_row_groups() {
            let rows = self.metadata.metadata().row_group(group).num_rows() as u64;
            if self.may_hold(group, &ids)? {
                let mut row = first;
                for batch in self.read(group, &["id", "application", "owner", "patient"])? {
                    let batch = batch?;
                    let (ids, applications) = (self.texts(&batch, "id")?, self.texts(&batch, "application")?);
                    let patients = self.texts(&batch, "patient")?;
                    let owners = self.column(&batch, "owner")?.as_primitive_opt::<Int64Type>();
                    let owners = owners.ok_or_else(|| self.unreadable("owner"))?;
                    let is_wanted =
                        |at: &usize| wanted.contains(ids.value(*at)) && applications.value(*at) == application;
                    for at in (0..batch.num_rows()).filter(is_wanted) {
                        let patient = patients.is_valid(at).then(|| patients.value(at));
                        visit(row + at as u64, ids.value(at), owners.value(at), patient);
                    }
                    row += batch.num_rows() as u64;
                }
            }
            first += rows;
        }
        Ok(())
    }

    /// Calls `visit` for each identifier of the application's rows that has a value. The arguments are the row's
    /// position and id, and the identifier's system and value.
    pub(in crate::ingest) fn identifiers(
        &self,
        application: &str,
        mut visit: impl FnMut(u64, &str, Option<&str>, &str),
    ) -> Result<(), IngestError> {
        let mut first = 0;
        for group in 0..self.metadata.metadata().num_row_groups() {
            let leaves = ["id", "application", "identifier"];
            for batch in self.read(group, &leaves)? {
                let batch = batch?;
                let (ids, applications) = (self.texts(&batch, "id")?, self.texts(&batch, "application")?);
                let Some(identifiers) = batch.column_by_name("identifier") else {
                    return Ok(());
                };
                // The column is a list of structs, or a struct where the type allows only one identifier (Bundle,
                // Composition).
                let (structs, offsets) = match identifiers.as_list_opt::<i32>() {
                    Some(list) => (list.values(), Some(list.value_offsets())),
                    None => (identifiers, None),
                };
                let Some(structs) = structs.as_struct_opt() else {
                    return Err(self.unreadable("identifier"));
                };
                let text = |name| {
                    structs
                        .column_by_name(name)
                        .and_then(|column| column.as_string_opt::<i32>())
                };
                if let Some(values) = text("value") {
                    let systems = text("system").filter(|systems| systems.len() == values.len());
                    for at in (0..batch.num_rows()).filter(|at| applications.value(*at) == application) {
                        let range = match offsets {
                            Some(offsets) => offsets[at] as usize..offsets[at + 1] as usize,
                            None => at..at + 1,
                        };
                        for place in range.filter(|place| values.is_valid(*place)) {
                            let system = systems.filter(|systems| systems.is_valid(place));
                            let system = system.map(|systems| systems.value(place));
                            visit(first + at as u64, ids.value(at), system, values.value(place));
                        }
                    }
                }
                first += batch.num_rows() as u64;
            }
        }
        Ok(())
    }

    /// Whether a row group may have a row with one of the ids, by its bloom filter. Returns `true` if it has no filter.
    fn may_hold(&self, group: usize, wanted: &FxHashMap<&str, u32>) -> Result<bool, IngestError> {
        let row_group = self.metadata.metadata().row_group(group);
        let Some(id) = row_group
            .columns()
            .iter()
            .find(|column| column.column_path().string() == "id")
        else {
            return Err(self.unreadable("id"));
        };
        if id.bloom_filter_offset().is_none() {
            return Ok(true);
        }
        let bloom = Sbbf::read_from_column_chunk(id, &self.file).map_err(damaged(self.path))?;
        Ok(bloom.is_none_or(|bloom| wanted.keys().any(|id| bloom.check(*id))))
    }

    fn read(
        &self,
        group: usize,
        columns: &[&str],
    ) -> Result<impl Iterator<Item = Result<RecordBatch, IngestError>> + use<'_, 'p>, IngestError> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let reader = builder
            .with_projection(mask)
            .with_row_groups(vec![group])
            .with_batch_size(8192)
            .build();
        let reader = reader.map_err(damaged(self.path))?;
        Ok(reader.map(|batch| batch.map_err(|error| damaged(self.path)(error.into()))))
    }

    fn column<'b>(&self, batch: &'b RecordBatch, name: &'static str) -> Result<&'b Arc<dyn Array>, IngestError> {
        batch.column_by_name(name).ok_or_else(|| self.unreadable(name))
    }

    fn texts<'b>(&self, batch: &'b RecordBatch, name: &'static str) -> Result<&'b StringArray, IngestError> {
        self.column(batch, name)?
            .as_string_opt::<i32>()
            .ok_or_else(|| self.unreadable(name))
    }

    fn unreadable(&self, column: &str) -> IngestError {
        damaged(self.path)(ParquetError::General(format!(
            "the column {column} is not what it should be"
        )))
    }
}

fn damaged(path: &Path) -> impl FnOnce(ParquetError) -> IngestError {
    move |source| {
        IngestError::Lake(LakeError::Parquet {
            action: "read",
            path: path.to_owned(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_are_a_set(changes in prop::collection::vec((any::<bool>(), 0u64..300), 0..200)) {
            let mut rows = Rows::default();
            let mut model = std::collections::BTreeSet::new();
            for (insert, row) in changes {
                if insert {
                    rows.insert(row);
                    model.insert(row);
                } else {
                    rows.remove(row);
                    model.remove(&row);
                }
            }
            prop_assert_eq!(rows.iter().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(rows.is_empty(), model.is_empty());
        }
    }
}
