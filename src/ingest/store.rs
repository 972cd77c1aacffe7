//! Writes resources into the lake: one transaction for the whole import, a Parquet file per run of owners, on all cores.
//!
//! `chains` decides what is stored as which version. A row of the lake that gets a newer version is deleted with the
//! commit; one that this very import wrote is taken out of its file before the commit.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::bloom_filter::Sbbf;
use rustc_hash::{FxHashMap, FxHashSet};

use super::block::Block;
use super::chains::{Chain, Current, Outcome, Place, Present, chains};
use super::error::{IngestError, Reason, Refusal};
use super::known::{Opened, Rows};
use super::library::deleted_rows;
use super::session::Options;
use super::summary::Summary;
use crate::fhir::TypeId;
use crate::lake::file::write_file;
use crate::lake::json::Tape;
use crate::lake::shred::{ShredError, Shredder, SystemValues};
use crate::lake::{LakeError, Picture, Transaction, WrittenFile};

/// Most rows of a file: one row group.
const FILE_ROWS: usize = 32_768;
/// Most bytes of resources in all files that are made at the same time; their columns take about three times as much.
const IN_THE_MAKING: usize = 64 << 20;
/// Runs are not cut smaller than this for the sake of more cores.
const LEAST_BYTES: usize = 4 << 20;

/// The writing side of an import.
#[derive(Debug)]
pub(super) struct Store<'w> {
    transaction: Transaction<'w>,
    base: Arc<Picture>,
    options: Options,
    /// The moment of the import, in microseconds; all its rows carry it.
    last_updated: i64,
    last_updated_text: String,
    pending: FxHashMap<TypeId, Vec<Pending>>,
    /// Rows of the lake that have a newer version, by data file.
    superseded: FxHashMap<(TypeId, u64), Rows>,
}

/// A file written in this import.
#[derive(Debug)]
struct Pending {
    file: WrittenFile,
    ids: Sbbf,
    /// Rows that a later occurrence replaced.
    dropped: Rows,
}

/// A resource that is to be written.
struct Row {
    chain: Place,
    version: i64,
    present: Present,
}

/// Rows that make one file.
struct Job<'b> {
    ty: TypeId,
    blocks: &'b [Block],
    rows: Vec<Row>,
}

/// What came of a [`Job`].
struct Done {
    ty: TypeId,
    /// Nothing, if all of its rows were refused.
    pending: Option<Pending>,
    stored: Vec<Present>,
    refusals: Vec<(Place, Refusal)>,
}

impl<'w> Store<'w> {
    pub(super) fn new(transaction: Transaction<'w>, now: i64, options: Options) -> Self {
        let base = Arc::clone(transaction.base());
        // FHIR's instants are written to the millisecond; the column says the same as the text.
        let last_updated = now.div_euclid(1000) * 1000;
        let time = chrono::DateTime::from_timestamp_micros(last_updated).unwrap_or_default();
        let last_updated_text = time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        Self {
            transaction,
            base,
            options,
            last_updated,
            last_updated_text,
            pending: FxHashMap::default(),
            superseded: FxHashMap::default(),
        }
    }

    /// Writes what the blocks hold and is new.
    pub(super) fn flush(
        &mut self,
        types: &[(TypeId, Vec<Block>)],
        summary: &mut Summary,
    ) -> Result<FxHashMap<TypeId, Vec<PathBuf>>, IngestError> {
        let mut jobs = Vec::new();
        for (ty, blocks) in types {
            let chains = chains(blocks, &FxHashSet::default());
            let (rows, unchanged) = self.plan(*ty, blocks, &chains, summary)?;
            summary.of(*ty).unchanged += unchanged;
            self.cut(*ty, blocks, rows, &mut jobs);
        }
        let mut written: FxHashMap<TypeId, Vec<PathBuf>> = FxHashMap::default();
        let mut refused: FxHashSet<(TypeId, Place)> = FxHashSet::default();
        while !jobs.is_empty() {
            let before = refused.len();
            for done in self.run(std::mem::take(&mut jobs))? {
                summary.of(done.ty).stored += done.stored.len() as u64;
                for present in &done.stored {
                    self.supersede(done.ty, present, summary);
                }
                for (place, refusal) in done.refusals {
                    refused.insert((done.ty, place));
                    summary.refuse(refusal);
                }
                if let Some(pending) = done.pending {
                    written.entry(done.ty).or_default().push(pending.file.path.clone());
                    self.pending.entry(done.ty).or_default().push(pending);
                }
            }
            if refused.len() > before {
                for (ty, blocks) in types {
                    let rows = self.plan_without(*ty, blocks, &refused, summary)?;
                    self.cut(*ty, blocks, rows, &mut jobs);
                }
            }
        }
        Ok(written)
    }

    /// Commits everything.
    pub(super) fn finish(mut self, summary: &mut Summary) -> Result<(), IngestError> {
        let mode = self.options.mode;
        for (ty, files) in std::mem::take(&mut self.pending) {
            for pending in files {
                let file = if pending.dropped.is_empty() {
                    Some(pending.file)
                } else {
                    self.without_dropped(ty, &pending)?
                };
                if let Some(file) = file {
                    self.transaction.add_file(mode, ty, file);
                }
            }
        }
        for ((ty, file), rows) in &self.superseded {
            self.transaction.delete_rows(mode, *ty, *file, rows.iter())?;
        }
        let picture = self.transaction.commit(&self.options.application, "import")?;
        summary.snapshot = picture.snapshot;
        Ok(())
    }

    /// Decides which resources of a type are written, as which versions, and how many are nothing new.
    fn plan(
        &mut self,
        ty: TypeId,
        blocks: &[Block],
        chains: &[Chain],
        summary: &mut Summary,
    ) -> Result<(Vec<Row>, u64), IngestError> {
        let present = self.present(ty, blocks, chains)?;
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
                        let file = self.base_file(ty, base.file);
                        self.superseded.entry((ty, file)).or_default().remove(base.row.row);
                    }
                    self.drop_pending(ty, &present, summary);
                }
            }
        }
        let id = |row: &Row| {
            let block = &blocks[row.chain.0 as usize];
            block.id(&block.entries[row.chain.1 as usize])
        };
        // The first bytes of an id as a number settle most comparisons without going to the text.
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

    /// The same for the resources whose last occurrence turned out to fit into no table: an earlier one may.
    fn plan_without(
        &mut self,
        ty: TypeId,
        blocks: &[Block],
        refused: &FxHashSet<(TypeId, Place)>,
        summary: &mut Summary,
    ) -> Result<Vec<Row>, IngestError> {
        let content = |place: &Place| {
            let block = &blocks[place.0 as usize];
            let entry = &block.entries[place.1 as usize];
            (block.id(entry), entry.digest)
        };
        let of_type = refused.iter().filter(|(of, _)| *of == ty);
        let without: FxHashSet<_> = of_type.map(|(_, place)| content(place)).collect();
        if without.is_empty() {
            return Ok(Vec::new());
        }
        let ids: FxHashSet<&str> = without.iter().map(|(id, _)| *id).collect();
        let mut again = chains(blocks, &without);
        again.retain(|chain| ids.contains(content(&chain.last).0));
        // What is unchanged was counted when they were planned first.
        Ok(self.plan(ty, blocks, &again, summary)?.0)
    }

    /// Finds the rows that have the chains' ids.
    fn present(&self, ty: TypeId, blocks: &[Block], chains: &[Chain]) -> Result<Vec<Present>, IngestError> {
        let mut present = vec![Present::default(); chains.len()];
        let pending = self.pending.get(&ty).map_or(&[][..], Vec::as_slice);
        let base = self
            .base
            .table(self.options.mode, ty)
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
                Opened::open(&file.file.path)?.find(&self.options.application, &wanted, |chain, row| {
                    if !file.dropped.contains(row.row) {
                        present[chain as usize].pending = Some(Current { file: at, row });
                    }
                })?;
            }
        }
        for (at, file) in (0..).zip(base) {
            let deleted = deleted_rows(file)?;
            Opened::open(&file.path)?.find(&self.options.application, &wanted, |chain, row| {
                if !deleted.contains(row.row) {
                    present[chain as usize].base = Some(Current { file: at, row });
                }
            })?;
        }
        Ok(present)
    }

    fn base_file(&self, ty: TypeId, at: u32) -> u64 {
        self.base
            .table(self.options.mode, ty)
            .map_or(0, |table| table.files[at as usize].id)
    }

    /// Takes out the row that a newer version replaces.
    fn supersede(&mut self, ty: TypeId, present: &Present, summary: &mut Summary) {
        if present.pending.is_some() {
            self.drop_pending(ty, present, summary);
        } else if let Some(base) = present.base {
            let file = self.base_file(ty, base.file);
            self.superseded.entry((ty, file)).or_default().insert(base.row.row);
        }
    }

    fn drop_pending(&mut self, ty: TypeId, present: &Present, summary: &mut Summary) {
        let files = self.pending.get_mut(&ty);
        if let (Some(current), Some(files)) = (present.pending, files) {
            files[current.file as usize].dropped.insert(current.row.row);
            summary.of(ty).stored -= 1;
        }
    }

    /// Cuts sorted rows into files: few, but enough to keep the cores busy.
    fn cut<'b>(&self, ty: TypeId, blocks: &'b [Block], rows: Vec<Row>, jobs: &mut Vec<Job<'b>>) {
        let size = |row: &Row| {
            let block = &blocks[row.chain.0 as usize];
            block.size(&block.entries[row.chain.1 as usize])
        };
        let total: usize = rows.iter().map(size).sum();
        let threads = self.options.threads();
        let bytes = total.div_ceil(threads).clamp(LEAST_BYTES, IN_THE_MAKING / threads);
        let mut job = Job {
            ty,
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
                        ty,
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

    /// Carries jobs out on all cores.
    fn run(&mut self, mut jobs: Vec<Job<'_>>) -> Result<Vec<Done>, IngestError> {
        // The largest first, so that no core is left with a large one at the end.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.rows.len()));
        let next = AtomicUsize::new(0);
        let (mode, application) = (self.options.mode, self.options.application.clone());
        let (last_updated, last_updated_text) = (self.last_updated, self.last_updated_text.clone());
        let threads = self.options.threads().min(jobs.len());
        let transaction = Mutex::new(&mut self.transaction);
        let lock = || transaction.lock().unwrap_or_else(PoisonError::into_inner);
        let work = || {
            let mut done = Vec::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut rows = job.rows.as_slice();
                while !rows.is_empty() {
                    let mut encoder = Encoder {
                        job,
                        rows,
                        application: &application,
                        last_updated,
                        last_updated_text: &last_updated_text,
                        refusals: Vec::new(),
                        stored: Vec::new(),
                        ids: Vec::new(),
                    };
                    let layout = lock().layout(mode, job.ty).clone();
                    let batch = encoder.batch(Shredder::for_layout(&layout))?;
                    rows = encoder.rows;
                    let mut pending = None;
                    if batch.num_rows() > 0 {
                        let (schema, path) = {
                            let mut transaction = lock();
                            let schema = transaction
                                .adopt(mode, job.ty, &batch.schema())
                                .map_err(IngestError::Layout)?;
                            (schema, transaction.new_file_path(mode, job.ty)?)
                        };
                        let file = write_file(&path, job.ty, &schema, [&batch])?;
                        pending = Some(Pending {
                            file,
                            ids: encoder.ids()?,
                            dropped: Rows::default(),
                        });
                    }
                    done.push(Done {
                        ty: job.ty,
                        pending,
                        stored: encoder.stored,
                        refusals: encoder.refusals,
                    });
                }
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
    /// Writes a file of this import again without the rows that were replaced; gives nothing if none is left.
    fn without_dropped(&mut self, ty: TypeId, pending: &Pending) -> Result<Option<WrittenFile>, IngestError> {
        let old = &pending.file.path;
        let failed = |source| LakeError::Parquet {
            action: "read",
            path: old.clone(),
            source,
        };
        let file = std::fs::File::open(old).map_err(|source| LakeError::Io {
            action: "read",
            path: old.clone(),
            source,
        })?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .map_err(failed)?
            .build()
            .map_err(failed)?;
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
                    .adopt(self.options.mode, ty, &batch.schema())
                    .map_err(IngestError::Layout)?;
                let path = self.transaction.new_file_path(self.options.mode, ty)?;
                Some(write_file(&path, ty, &schema, &batches)?)
            }
        };
        // Should this fail, the file is an orphan for the next writer to remove.
        let _ = std::fs::remove_file(old);
        Ok(written)
    }
}

/// Makes a batch of a job's rows, as many as it can hold.
struct Encoder<'j> {
    job: &'j Job<'j>,
    /// The rows that are not in a batch yet.
    rows: &'j [Row],
    application: &'j str,
    last_updated: i64,
    last_updated_text: &'j str,
    refusals: Vec<(Place, Refusal)>,
    stored: Vec<Present>,
    ids: Vec<&'j str>,
}

impl<'j> Encoder<'j> {
    fn batch(&mut self, mut shredder: Shredder) -> Result<RecordBatch, IngestError> {
        let mut tape = Tape::new();
        let mut text = Vec::new();
        let mut shared_refs = Vec::new();
        while let Some((row, rest)) = self.rows.split_first() {
            let block = &self.job.blocks[row.chain.0 as usize];
            let entry = &block.entries[row.chain.1 as usize];
            block.write(entry, row.version, self.last_updated_text, &mut text);
            shared_refs.clear();
            shared_refs.extend(block.shared_refs(entry).map(str::to_owned));
            let pushed = match tape.parse(&text) {
                Ok(root) => {
                    let system = SystemValues {
                        owner: entry.owner,
                        id: block.id(entry),
                        patient: block.patient(entry),
                        application: self.application,
                        authorization: None,
                        endpoint: None,
                        version: row.version,
                        last_updated: self.last_updated,
                        digest: entry.digest,
                        shared_refs: &shared_refs,
                        resource: root.raw(),
                    };
                    match shredder.push(&system, root) {
                        Err(ShredError::Full) => break,
                        pushed => pushed.map_err(|error| Reason::Shape(error.to_string())),
                    }
                }
                Err(error) => Err(Reason::NotJson {
                    reason: error.reason,
                    column: error.offset as u64 + 1,
                }),
            };
            self.rows = rest;
            match pushed {
                Ok(()) => {
                    self.stored.push(row.present);
                    self.ids.push(block.id(entry));
                }
                Err(reason) => {
                    let refusal = Refusal {
                        file: Arc::clone(&block.file),
                        line: entry.origin.line,
                        entry: entry.origin.entry.map(|entry| entry as usize),
                        ty: Some(block.ty),
                        reason,
                    };
                    self.refusals.push((row.chain, refusal));
                }
            }
        }
        let path = PathBuf::from(crate::fhir::facts().get(self.job.ty).name);
        shredder.finish().map_err(|error| {
            LakeError::Parquet {
                action: "write",
                path,
                source: error.into(),
            }
            .into()
        })
    }

    /// A filter on the ids, to find them again in the course of the import.
    fn ids(&self) -> Result<Sbbf, IngestError> {
        let path = PathBuf::from(crate::fhir::facts().get(self.job.ty).name);
        let mut filter = Sbbf::new_with_ndv_fpp(self.ids.len() as u64, 0.001).map_err(|source| LakeError::Parquet {
            action: "write",
            path,
            source,
        })?;
        self.ids.iter().for_each(|id| filter.insert(*id));
        Ok(filter)
    }
}
