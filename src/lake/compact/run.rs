//! Carrying a compaction out: one merge, one snapshot at a time, until the plan has nothing left.

use std::sync::Arc;

use super::merge::{inspect, merge};
use super::plan::{self, Candidate, Effort};
use crate::fhir::{TypeId, facts};
use crate::lake::error::LakeError;
use crate::lake::layout::union_schema;
use crate::lake::picture::{DataFile, TablePicture};
use crate::lake::scope::Mode;
use crate::lake::writer::LakeWriter;

/// What to compact and how far.
#[derive(Clone, Copy, Debug)]
pub struct CompactOptions {
    /// How far to go.
    pub effort: Effort,
    /// The size files are merged toward.
    pub target_bytes: u64,
}

impl CompactOptions {
    /// This effort, with files of 128 MiB.
    pub fn new(effort: Effort) -> CompactOptions {
        CompactOptions {
            effort,
            target_bytes: 128 << 20,
        }
    }
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Merges, each a snapshot of its own.
    pub merges: u64,
    /// Files merged.
    pub files_before: u64,
    /// Files they became.
    pub files_after: u64,
    /// Bytes of the files merged.
    pub bytes_before: u64,
    /// Bytes of the files they became.
    pub bytes_after: u64,
}

/// Compacts all tables, then lets go of expired snapshots. `progress` hears of each merge: the table, and what was done in all.
pub fn run(
    writer: &mut LakeWriter,
    options: &CompactOptions,
    mut progress: impl FnMut(Mode, &'static str, &Compacted),
) -> Result<Compacted, LakeError> {
    let mut done = Compacted::default();
    while let Some((mode, ty, step)) = step(writer, options)? {
        done.merges += step.merges;
        done.files_before += step.files_before;
        done.files_after += step.files_after;
        done.bytes_before += step.bytes_before;
        done.bytes_after += step.bytes_after;
        progress(mode, facts().get(ty).name, &done);
    }
    writer.expire()?;
    Ok(done)
}

/// Does one merge; `None` when there is nothing to do. Between two steps a writer may do other work.
pub fn step(writer: &mut LakeWriter, options: &CompactOptions) -> Result<Option<(Mode, TypeId, Compacted)>, LakeError> {
    let picture = writer.lake().picture();
    for table in picture.tables.values() {
        // A merged file would take rows along that are being erased.
        let stays = |file: &&Arc<DataFile>| !picture.erasures.may_reach(table.mode, file.id, &file.owners);
        let candidates: Vec<Candidate> = table.files.iter().filter(stays).map(|file| candidate(file)).collect();
        if let Some(group) = plan::next(&candidates, options.effort, options.target_bytes) {
            let done = merge_group(writer, table, &group, options.target_bytes)?;
            return Ok(Some((table.mode, table.ty, done)));
        }
    }
    Ok(None)
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
    table: &TablePicture,
    group: &[Vec<Candidate>],
    target: u64,
) -> Result<Compacted, LakeError> {
    let runs: Vec<Vec<Arc<DataFile>>> = group
        .iter()
        .map(|run| run.iter().filter_map(|file| table.file(file.id).cloned()).collect())
        .collect();
    let old: Vec<Arc<DataFile>> = runs.concat();
    let inputs = inspect(&runs)?;
    let unfit = |error| LakeError::Damaged(format!("files of {}: {error}", facts().get(table.ty).name));
    let union = union_schema(table.ty, inputs.schemas.iter().map(AsRef::as_ref)).map_err(unfit)?;
    let (mode, ty) = (table.mode, table.ty);
    let mut transaction = writer.begin();
    let schema = transaction.adopt(mode, ty, &union).map_err(unfit)?;
    let new = merge(runs, &inputs, ty, &schema, target, || {
        transaction.new_file_path(mode, ty)
    })?;
    let done = Compacted {
        merges: 1,
        files_before: old.len() as u64,
        files_after: new.len() as u64,
        bytes_before: old.iter().map(|file| file.bytes).sum(),
        bytes_after: new.iter().map(|file| file.bytes).sum(),
    };
    transaction.replace_files(mode, ty, old.iter().map(|file| file.id), new)?;
    transaction.commit("tabularium", "compaction")?;
    Ok(done)
}
