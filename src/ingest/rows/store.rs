//! Writes resources into the lake, on all cores. The whole import is one transaction. Each Parquet file has a range of
//! owners.
//!
//! `chains` decides which content is stored, and as which version. The commit deletes the lake's rows that get a newer
//! version. If the import replaces a row that it has written itself, it rewrites the file without that row before the
//! commit.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::{BooleanArray, RecordBatch};
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::error::IngestError;
use super::super::options::Options;
use super::super::references::known::{Opened, Rows};
use super::super::references::library::deleted_rows;
use super::super::summary::Summary;
use super::super::sync::synced::{Synced, SyncedAttachment};
use super::block::Block;
use super::chains::{BufferIndex, Chain, Current, Outcome, Present, chains};
use super::encode::{Done, Job, Pending, Row, Target};
use super::unfit::Unfit;
use crate::fhir::TypeId;
use crate::lake::file::{CheckedFile, write_file};
use crate::lake::{LakeError, NewAttachment, Snapshot, Transaction, WrittenFile};

/// The maximum number of rows of a file. A file with this number of rows has one row group.
const FILE_ROWS: usize = 32_768;
/// The maximum number of bytes of the resources that all threads encode at the same time. Their columns take about
/// three times as much memory.
const IN_THE_MAKING: usize = 64 << 20;
/// The resources of a flush are divided into about one file per thread. If there are few resources, there are fewer
/// files, so that each file gets at least about this number of bytes of resources.
const MIN_BYTES: usize = 4 << 20;

/// Writes the rows of an import, and commits them.
#[derive(Debug)]
pub(in crate::ingest) struct Store<'w> {
    transaction: Transaction<'w>,
    base: Arc<Snapshot>,
    options: Options,
    /// The time of the snapshot that the commit will make, in microseconds since 1970. All rows have this time.
    last_updated: i64,
    last_updated_text: String,
    /// The reason for the snapshot: `import` or `sync`.
    cause: &'static str,
    pending: FxHashMap<TypeId, Vec<Pending>>,
    /// The positions of the lake's rows that the commit deletes, by type and data file.
    superseded: FxHashMap<(TypeId, u64), Rows>,
    /// Resources of the input that do not fit into a table.
    pub(in crate::ingest) unfit: Unfit,
}

impl<'w> Store<'w> {
    pub(in crate::ingest) fn new(transaction: Transaction<'w>, options: Options, cause: &'static str) -> Self {
        let base = Arc::clone(transaction.base());
        // Clients ask for records that are newer than those they have. So `Transaction::time` returns a later time for
        // each commit, even if the clock does not advance.
        let last_updated = transaction.time();
        let time = chrono::DateTime::from_timestamp_micros(last_updated).unwrap_or_default();
        let last_updated_text = time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        Self {
            transaction,
            base,
            options,
            last_updated,
            last_updated_text,
            cause,
            pending: FxHashMap::default(),
            superseded: FxHashMap::default(),
            unfit: Unfit::default(),
        }
    }

    /// Writes the new and changed resources of the blocks. Returns the paths of the written files.
    pub(in crate::ingest) fn flush(
        &mut self,
        types: &[(TypeId, Vec<Block>)],
        summary: &mut Summary,
    ) -> Result<FxHashMap<TypeId, Vec<PathBuf>>, IngestError> {
        let mut jobs = Vec::new();
        for (type_id, blocks) in types {
            let chains = chains(blocks, &FxHashSet::default());
            let (rows, unchanged) = self.plan(*type_id, blocks, &chains, summary)?;
            summary.of(*type_id).unchanged += unchanged;
            self.cut(*type_id, blocks, rows, &mut jobs);
        }
        let mut written: FxHashMap<TypeId, Vec<PathBuf>> = FxHashMap::default();
        let mut refused: FxHashSet<(TypeId, BufferIndex)> = FxHashSet::default();
        while !jobs.is_empty() {
            let before = refused.len();
            for done in self.run(std::mem::take(&mut jobs))? {
                summary.of(done.type_id).stored += done.stored.len() as u64;
                for present in &done.stored {
                    self.supersede(done.type_id, present, summary);
                }
                for (place, refusal) in done.refusals {
                    refused.insert((done.type_id, place));
                    self.unfit.add(&refusal);
                    summary.refuse(refusal);
                }
                if let Some(pending) = done.pending {
                    written.entry(done.type_id).or_default().push(pending.file.path.clone());
                    self.pending.entry(done.type_id).or_default().push(pending);
                }
            }
            if refused.len() > before {
                for (type_id, blocks) in types {
                    let rows = self.plan_without(*type_id, blocks, &refused, summary)?;
                    self.cut(*type_id, blocks, rows, &mut jobs);
                }
            }
        }
        Ok(written)
    }

    /// Makes the commit delete the application's rows with these ids.
    pub(in crate::ingest) fn delete(&mut self, type_id: TypeId, ids: &[String]) -> Result<(), IngestError> {
        let wanted: FxHashMap<&str, u32> = ids.iter().map(String::as_str).zip(0..).collect();
        let base = Arc::clone(&self.base);
        let files = base
            .table(self.options.mode, type_id)
            .map_or(&[][..], |table| &table.files);
        for file in files {
            let deleted = deleted_rows(file, self.transaction.keys())?;
            let gone = self.superseded.entry((type_id, file.id)).or_default();
            Opened::open(&file.path, self.transaction.keys())?.find(&self.options.application, &wanted, |_, row| {
                if !deleted.contains(row.row) {
                    gone.insert(row.row);
                }
            })?;
        }
        self.superseded.retain(|_, rows| !rows.is_empty());
        Ok(())
    }

    /// Adds the bytes of a Binary. If the lake already has the same bytes, it only updates the attachment's `origin`,
    /// which the next sync compares.
    pub(in crate::ingest) fn attach(
        &mut self,
        synced: &Synced,
        binary: &str,
        one: &SyncedAttachment,
    ) -> Result<(), IngestError> {
        if let Some(number) = one.kept {
            self.transaction.set_origin(number, &one.origin);
            return Ok(());
        }
        let new = NewAttachment {
            application: &self.options.application,
            owner: synced.owner,
            authorization: &synced.authorization,
            binary,
            bytes: &one.bytes,
            sums: &one.sums,
            origin: &one.origin,
        };
        Ok(self.transaction.add_attachment(self.options.mode, new)?)
    }

    /// Commits all files and deletions. Sets `summary.snapshot` to the resulting snapshot.
    pub(in crate::ingest) fn finish(mut self, summary: &mut Summary) -> Result<(), IngestError> {
        let mode = self.options.mode;
        for (type_id, files) in std::mem::take(&mut self.pending) {
            for pending in files {
                let file = if pending.dropped.is_empty() {
                    Some(pending.file)
                } else {
                    self.without_dropped(type_id, &pending)?
                };
                if let Some(file) = file {
                    self.transaction.add_file(mode, type_id, file);
                }
            }
        }
        for ((type_id, file), rows) in &self.superseded {
            self.transaction.delete_rows(mode, *type_id, *file, rows.iter())?;
        }
        let snapshot = self.transaction.commit(&self.options.application, self.cause)?;
        summary.snapshot = snapshot.id;
        Ok(())
    }

    /// Decides which resources of a type are written, and as which versions. Returns these rows, sorted by owner and
    /// id, and the number of unchanged occurrences. If the input returns to the content of the lake's row, the lake's
    /// row stays, and this import's own row of the resource is dropped.
    fn plan(
        &mut self,
        type_id: TypeId,
        blocks: &[Block],
        chains: &[Chain],
        summary: &mut Summary,
    ) -> Result<(Vec<Row>, u64), IngestError> {
        let present = self.present(type_id, blocks, chains)?;
        let mut nothing_new = 0;
        let mut rows = Vec::new();
        for (chain, present) in chains.iter().zip(present) {
            let (outcome, unchanged) = chain.decide(&present);
            nothing_new += unchanged;
            match outcome {
                Outcome::Store(version) => rows.push(Row {
                    chain: chain.last,
                    version,
                    present,
                }),
                Outcome::Keep => {}
                Outcome::Restore => {
                    if let Some(base) = present.base {
                        let file = self.base_file(type_id, base.file);
                        self.superseded.entry((type_id, file)).or_default().remove(base.row.row);
                    }
                    self.drop_pending(type_id, &present, summary);
                }
            }
        }
        let id = |row: &Row| {
            let block = &blocks[row.chain.0 as usize];
            block.id(&block.entries[row.chain.1 as usize])
        };
        // The first eight bytes of the ids, as numbers, decide most comparisons without a comparison of texts.
        let mut order: Vec<(i64, u64, Row)> = rows
            .into_iter()
            .map(|row| {
                let mut first = [0; 8];
                let bytes = id(&row).as_bytes();
                let length = bytes.len().min(8);
                first[..length].copy_from_slice(&bytes[..length]);
                let owner = blocks[row.chain.0 as usize].entries[row.chain.1 as usize].owner;
                (owner, u64::from_be_bytes(first), row)
            })
            .collect();
        order.sort_unstable_by(|one, other| {
            (one.0, one.1)
                .cmp(&(other.0, other.1))
                .then_with(|| id(&one.2).cmp(id(&other.2)))
        });
        Ok((order.into_iter().map(|(_, _, row)| row).collect(), nothing_new))
    }

    /// Plans again each resource whose last content does not fit into a table, because an earlier occurrence may fit.
    fn plan_without(
        &mut self,
        type_id: TypeId,
        blocks: &[Block],
        refused: &FxHashSet<(TypeId, BufferIndex)>,
        summary: &mut Summary,
    ) -> Result<Vec<Row>, IngestError> {
        let content = |place: &BufferIndex| {
            let block = &blocks[place.0 as usize];
            let entry = &block.entries[place.1 as usize];
            (block.id(entry), entry.digest)
        };
        let of_type = refused.iter().filter(|(of, _)| *of == type_id);
        let without: FxHashSet<_> = of_type.map(|(_, place)| content(place)).collect();
        if without.is_empty() {
            return Ok(Vec::new());
        }
        let ids: FxHashSet<&str> = without.iter().map(|(id, _)| *id).collect();
        let mut again = chains(blocks, &without);
        again.retain(|chain| ids.contains(content(&chain.last).0));
        // Ignore the number of unchanged occurrences, because the first plan has already counted them.
        Ok(self.plan(type_id, blocks, &again, summary)?.0)
    }

    /// Finds the existing rows with the chains' ids, in the lake and in the files of this import.
    fn present(&self, type_id: TypeId, blocks: &[Block], chains: &[Chain]) -> Result<Vec<Present>, IngestError> {
        let mut present = vec![Present::default(); chains.len()];
        let pending = self.pending.get(&type_id).map_or(&[][..], Vec::as_slice);
        let base = self
            .base
            .table(self.options.mode, type_id)
            .map_or(&[][..], |table| &table.files);
        if pending.is_empty() && base.is_empty() {
            return Ok(present);
        }
        let id = |chain: &Chain| {
            let block = &blocks[chain.last.0 as usize];
            block.id(&block.entries[chain.last.1 as usize])
        };
        let wanted: FxHashMap<&str, u32> = chains.iter().map(id).zip(0..).collect();
        for (at, file) in (0..).zip(pending) {
            if wanted.keys().any(|id| file.ids.check(*id)) {
                Opened::open(&file.file.path, self.transaction.keys())?.find(
                    &self.options.application,
                    &wanted,
                    |chain, row| {
                        if !file.dropped.contains(row.row) {
                            present[chain as usize].pending = Some(Current { file: at, row });
                        }
                    },
                )?;
            }
        }
        for (at, file) in (0..).zip(base) {
            let deleted = deleted_rows(file, self.transaction.keys())?;
            Opened::open(&file.path, self.transaction.keys())?.find(
                &self.options.application,
                &wanted,
                |chain, row| {
                    if !deleted.contains(row.row) {
                        present[chain as usize].base = Some(Current { file: at, row });
                    }
                },
            )?;
        }
        Ok(present)
    }

    fn base_file(&self, type_id: TypeId, at: u32) -> u64 {
        self.base
            .table(self.options.mode, type_id)
            .map_or(0, |table| table.files[at as usize].id)
    }

    /// Deletes the existing row that a newer version replaces: this import's own row or, if it has written none, the
    /// lake's row.
    fn supersede(&mut self, type_id: TypeId, present: &Present, summary: &mut Summary) {
        if present.pending.is_some() {
            self.drop_pending(type_id, present, summary);
        } else if let Some(base) = present.base {
            let file = self.base_file(type_id, base.file);
            self.superseded.entry((type_id, file)).or_default().insert(base.row.row);
        }
    }

    fn drop_pending(&mut self, type_id: TypeId, present: &Present, summary: &mut Summary) {
        let files = self.pending.get_mut(&type_id);
        if let (Some(current), Some(files)) = (present.pending, files) {
            files[current.file as usize].dropped.insert(current.row.row);
            summary.of(type_id).stored -= 1;
        }
    }

    /// Divides sorted rows into jobs, one for each file. Makes few jobs, but enough to keep the cores busy.
    fn cut<'b>(&self, type_id: TypeId, blocks: &'b [Block], rows: Vec<Row>, jobs: &mut Vec<Job<'b>>) {
        let size = |row: &Row| {
            let block = &blocks[row.chain.0 as usize];
            block.size(&block.entries[row.chain.1 as usize])
        };
        let total: usize = rows.iter().map(size).sum();
        let threads = self.options.threads();
        let bytes = total.div_ceil(threads).clamp(MIN_BYTES, IN_THE_MAKING / threads);
        let mut job = Job {
            type_id,
            blocks,
            rows: Vec::new(),
        };
        let mut weight = 0;
        for row in rows {
            let more = size(&row);
            if !job.rows.is_empty() && (weight + more > bytes || job.rows.len() == FILE_ROWS) {
                jobs.push(std::mem::replace(
                    &mut job,
                    Job {
                        type_id,
                        blocks,
                        rows: Vec::new(),
                    },
                ));
                weight = 0;
            }
            weight += more;
            job.rows.push(row);
        }
        if !job.rows.is_empty() {
            jobs.push(job);
        }
    }

    /// Runs jobs on several threads.
    fn run(&mut self, mut jobs: Vec<Job<'_>>) -> Result<Vec<Done>, IngestError> {
        // The largest jobs come first, so that no thread still has a large one when the others are done.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.bytes()));
        let next = AtomicUsize::new(0);
        let target = Target {
            mode: self.options.mode,
            application: self.options.application.clone(),
            last_updated: self.last_updated,
            last_updated_text: self.last_updated_text.clone(),
        };
        let threads = self.options.threads().min(jobs.len());
        let transaction = Mutex::new(&mut self.transaction);
        let work = || {
            let mut done = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.extend(job.write(&target, &transaction)?);
            }
            Ok::<_, IngestError>(done)
        };
        let mut all = Vec::new();
        std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for thread in running {
                all.extend(thread.join().map_err(|_| IngestError::Worker)??);
            }
            Ok::<_, IngestError>(())
        })?;
        Ok(all)
    }
}

impl Store<'_> {
    /// Rewrites a file of this import without its replaced rows, and removes the old file. Returns `None` if no row
    /// remains.
    fn without_dropped(&mut self, type_id: TypeId, pending: &Pending) -> Result<Option<WrittenFile>, IngestError> {
        let old = &pending.file.path;
        let failed = |source| LakeError::Parquet {
            action: "read",
            path: old.clone(),
            source,
        };
        let keys = self.transaction.keys().clone();
        let reader = CheckedFile::open(old, &keys)?.rows(old)?.build().map_err(failed)?;
        let mut first = 0;
        let mut batches: Vec<RecordBatch> = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|error| failed(error.into()))?;
            let rows = first..first + batch.num_rows() as u64;
            first = rows.end;
            let keep: BooleanArray = rows.map(|row| Some(!pending.dropped.contains(row))).collect();
            let kept = arrow::compute::filter_record_batch(&batch, &keep).map_err(|error| failed(error.into()))?;
            batches.push(kept);
        }
        batches.retain(|batch| batch.num_rows() > 0);
        let written = match batches.first() {
            None => None,
            Some(batch) => {
                let schema = self
                    .transaction
                    .adopt(self.options.mode, type_id, &batch.schema())
                    .map_err(IngestError::Layout)?;
                let path = self.transaction.new_file_path(self.options.mode, type_id)?;
                Some(write_file(&path, type_id, &schema, &batches, &keys)?)
            }
        };
        // If this fails, the next writer removes the file, because no snapshot has it.
        let _ = std::fs::remove_file(old);
        Ok(written)
    }
}
