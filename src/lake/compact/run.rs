//! Carries out a compaction. Each merge becomes one snapshot, until the plan has no more merges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::merge::{MergeError, inspect, merge};
use super::plan::{self, Candidate, Effort};
use crate::columns::layout::union_schema;
use crate::fhir::{TypeId, facts};
use crate::lake::commit::writer::LakeWriter;
use crate::lake::error::LakeError;
use crate::lake::file::CheckedFile;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::Keys;
use crate::lake::snapshot::{DataFile, Snapshot, TableSnapshot};

/// Options of a compaction.
#[derive(Clone, Copy, Debug)]
pub struct CompactOptions {
    /// How far the compaction goes.
    pub effort: Effort,
    /// The target size of merged files in bytes.
    pub target_bytes: u64,
}

impl CompactOptions {
    /// Returns options with this effort and a target size of 32 MiB per file. An erasure rewrites each file that has a
    /// row of the person, so it takes longer the larger the files are. A scan takes hardly longer over smaller files.
    pub const fn new(effort: Effort) -> CompactOptions {
        CompactOptions {
            effort,
            target_bytes: 32 << 20,
        }
    }
}

/// The results of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// The number of merges. Each makes one snapshot.
    pub merges: u64,
    /// The number of files that were merged.
    pub files_before: u64,
    /// The number of new files.
    pub files_after: u64,
    /// The size of the files that were merged, in bytes.
    pub bytes_before: u64,
    /// The size of the new files in bytes.
    pub bytes_after: u64,
}

/// A file that could not be read. It stays unchanged. The compaction merges the other files without it.
#[derive(Debug)]
pub struct Unreadable {
    /// The data file.
    pub path: PathBuf,
    /// The error that occurred when the data file or its delete file was read.
    pub error: LakeError,
}

/// A compaction that runs merge by merge. It leaves out files that it could not read.
#[derive(Debug)]
pub struct Compaction {
    options: CompactOptions,
    unreadable: BTreeMap<u64, Unreadable>,
    /// The ids of files that `lacks_checksums` need not open again: they have checksums, or cannot be read.
    summed: BTreeSet<u64>,
}

/// Compacts all tables, then expires old snapshots. Calls `progress` after each merge with the table and the totals
/// so far. Also returns the files that could not be read.
pub fn run(
    writer: &mut LakeWriter,
    options: &CompactOptions,
    mut progress: impl FnMut(Mode, &'static str, &Compacted),
) -> Result<(Compacted, Vec<Unreadable>), LakeError> {
    let mut done = Compacted::default();
    let mut compaction = Compaction::new(*options);
    while let Some((mode, type_id, step)) = compaction.step(writer)? {
        done.merges += step.merges;
        done.files_before += step.files_before;
        done.files_after += step.files_after;
        done.bytes_before += step.bytes_before;
        done.bytes_after += step.bytes_after;
        progress(mode, facts().get(type_id).name, &done);
    }
    writer.expire()?;
    Ok((done, compaction.into_unreadable()))
}

impl Compaction {
    /// Prepares a compaction.
    pub fn new(options: CompactOptions) -> Compaction {
        Compaction {
            options,
            unreadable: BTreeMap::new(),
            summed: BTreeSet::new(),
        }
    }

    /// Does one merge. Returns the table and the result of the merge, or `None` if there is nothing to merge. Each step
    /// is a transaction of its own, so the caller may give the lake to other writers between two steps.
    pub fn step(&mut self, writer: &mut LakeWriter) -> Result<Option<(Mode, TypeId, Compacted)>, LakeError> {
        let (snapshot, keys) = (writer.lake().snapshot(), writer.lake().folder().keys().clone());
        for table in snapshot.tables.values() {
            while let Some(group) = self.next(&snapshot, table, &keys) {
                match merge_group(writer, table, &group, self.options.target_bytes) {
                    Ok(done) => return Ok(Some((table.mode, table.type_id, done))),
                    Err(MergeError::Other(error)) => return Err(error),
                    Err(MergeError::Input(file, error)) => {
                        tracing::warn!(%error, "a data file cannot be read; compaction leaves it as it is");
                        let path = file.path.clone();
                        self.unreadable.insert(file.id, Unreadable { path, error });
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the files that could not be read.
    pub fn into_unreadable(self) -> Vec<Unreadable> {
        self.unreadable.into_values().collect()
    }

    /// Returns the files of a table to merge next, as runs.
    fn next(&mut self, snapshot: &Snapshot, table: &TableSnapshot, keys: &Keys) -> Option<Vec<Vec<Candidate>>> {
        // Leave out files that may hold rows of an unfinished erasure. The merged file would have these rows too, and
        // the erasure does not cover new files.
        let erased = |file: &DataFile| snapshot.erasures.may_reach(table.mode, file.id, &file.owners);
        let mut files: Vec<&Arc<DataFile>> = table.files.iter().filter(|file| !erased(file)).collect();
        files.retain(|file| !self.unreadable.contains_key(&file.id));
        let candidates: Vec<Candidate> = files.iter().map(|file| candidate(file)).collect();
        let planned = plan::next(&candidates, self.options.effort, self.options.target_bytes);
        if planned.is_some() || self.options.effort != Effort::Thorough {
            return planned;
        }
        let file = files.into_iter().find(|file| self.lacks_checksums(file, keys))?;
        Some(vec![vec![candidate(file)]])
    }

    /// Whether the file has no checksums, because an earlier version of this program wrote it. A thorough compaction
    /// rewrites such a file even if no other file is merged with it. If the file cannot be opened, adds it to
    /// `unreadable`.
    fn lacks_checksums(&mut self, file: &DataFile, keys: &Keys) -> bool {
        if self.summed.contains(&file.id) {
            return false;
        }
        match CheckedFile::open(&file.path, keys) {
            Ok(open) if !open.has_checksums() => return true,
            Ok(_) => {}
            Err(error) => {
                let path = file.path.clone();
                self.unreadable.insert(file.id, Unreadable { path, error });
            }
        }
        self.summed.insert(file.id);
        false
    }
}

fn candidate(file: &DataFile) -> Candidate {
    Candidate {
        id: file.id,
        owners: file.owners.clone(),
        bytes: file.bytes,
        rows: file.rows,
        deleted: file.rows - file.live_rows(),
    }
}

fn merge_group(
    writer: &mut LakeWriter,
    table: &TableSnapshot,
    group: &[Vec<Candidate>],
    target: u64,
) -> Result<Compacted, MergeError> {
    let runs: Vec<Vec<Arc<DataFile>>> = group
        .iter()
        .map(|run| run.iter().filter_map(|file| table.file(file.id).cloned()).collect())
        .collect();
    let old: Vec<Arc<DataFile>> = runs.concat();
    let keys = writer.lake().folder().keys().clone();
    let inputs = inspect(&runs, &keys)?;
    let unfit = |error| LakeError::Damaged(format!("files of {}: {error}", facts().get(table.type_id).name));
    let union = union_schema(table.type_id, inputs.schemas.iter().map(AsRef::as_ref)).map_err(unfit)?;
    let (mode, type_id) = (table.mode, table.type_id);
    let mut transaction = writer.begin();
    let schema = transaction.adopt(mode, type_id, &union).map_err(unfit)?;
    let new = merge(runs, &inputs, (type_id, &schema), target, &keys, || {
        transaction.new_file_path(mode, type_id)
    })?;
    let done = Compacted {
        merges: 1,
        files_before: old.len() as u64,
        files_after: new.len() as u64,
        bytes_before: old.iter().map(|file| file.bytes).sum(),
        bytes_after: new.iter().map(|file| file.bytes).sum(),
    };
    transaction.replace_files(mode, type_id, old.iter().map(|file| file.id), new)?;
    transaction.commit("tabularium", "compaction")?;
    Ok(done)
}
