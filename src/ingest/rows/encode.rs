//! Writes the rows of one file: shreds normalized texts into a batch of columns, and writes the batch as Parquet.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use parquet::bloom_filter::Sbbf;

use super::super::error::{IngestError, Reason, Refusal};
use super::super::references::known::Rows;
use super::block::Block;
use super::chains::{BufferIndex, Present};
use crate::columns::json::Tape;
use crate::columns::shred::{ShredError, Shredder, SystemValues};
use crate::fhir::{TypeId, facts};
use crate::lake::file::write_file;
use crate::lake::{LakeError, Mode, Transaction, WrittenFile};

/// The values that all rows of an import share.
pub(in crate::ingest) struct Target {
    pub(in crate::ingest) mode: Mode,
    pub(in crate::ingest) application: String,
    /// The time of the import in microseconds since 1970. `last_updated_text` has this time in FHIR's form.
    pub(in crate::ingest) last_updated: i64,
    pub(in crate::ingest) last_updated_text: String,
}

/// A file that this import has written and not committed yet.
#[derive(Debug)]
pub(in crate::ingest) struct Pending {
    pub(in crate::ingest) file: WrittenFile,
    pub(in crate::ingest) ids: Sbbf,
    /// The positions of rows that a later occurrence of their id replaced.
    pub(in crate::ingest) dropped: Rows,
}

/// A resource to be written.
pub(in crate::ingest) struct Row {
    pub(in crate::ingest) chain: BufferIndex,
    pub(in crate::ingest) version: i64,
    pub(in crate::ingest) present: Present,
}

/// Rows of one type to write. They become one file, or several if one batch cannot hold them.
pub(in crate::ingest) struct Job<'b> {
    pub(in crate::ingest) type_id: TypeId,
    pub(in crate::ingest) blocks: &'b [Block],
    pub(in crate::ingest) rows: Vec<Row>,
}

/// The result of a [`Job`].
pub(in crate::ingest) struct Done {
    pub(in crate::ingest) type_id: TypeId,
    /// The written file. `None` if all rows were refused.
    pub(in crate::ingest) pending: Option<Pending>,
    pub(in crate::ingest) stored: Vec<Present>,
    pub(in crate::ingest) refusals: Vec<(BufferIndex, Refusal)>,
}

/// The approximate number of bytes that `meta.versionId` and `meta.lastUpdated` add to a resource.
const META: usize = 80;

impl Job<'_> {
    /// Returns the approximate number of bytes of all rows' resources.
    pub(in crate::ingest) fn bytes(&self) -> usize {
        self.bytes_of(&self.rows)
    }

    fn bytes_of(&self, rows: &[Row]) -> usize {
        let size = |row: &Row| {
            let block = &self.blocks[row.chain.0 as usize];
            block.size(&block.entries[row.chain.1 as usize]) + META
        };
        rows.iter().map(size).sum()
    }

    /// Writes the rows to a file, or to several if one batch cannot hold them.
    pub(in crate::ingest) fn write(
        &self,
        target: &Target,
        transaction: &Mutex<&mut Transaction<'_>>,
    ) -> Result<Vec<Done>, IngestError> {
        let lock = || transaction.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        let mut rows = self.rows.as_slice();
        while !rows.is_empty() {
            let mut encoder = Encoder {
                job: self,
                rows,
                target,
                refusals: Vec::new(),
                stored: Vec::new(),
                ids: Vec::new(),
            };
            let layout = lock().layout(target.mode, self.type_id).clone();
            let mut shredder = Shredder::for_layout(&layout);
            shredder.reserve(rows.len(), self.bytes_of(rows));
            let batch = encoder.batch(shredder)?;
            rows = encoder.rows;
            let mut pending = None;
            if batch.num_rows() > 0 {
                let (schema, path, keys) = {
                    let mut transaction = lock();
                    let schema = transaction.adopt(target.mode, self.type_id, &batch.schema());
                    (
                        schema.map_err(IngestError::Layout)?,
                        transaction.new_file_path(target.mode, self.type_id)?,
                        transaction.keys().clone(),
                    )
                };
                pending = Some(Pending {
                    file: write_file(&path, self.type_id, &schema, [&batch], &keys)?,
                    ids: encoder.ids()?,
                    dropped: Rows::default(),
                });
            }
            all.push(Done {
                type_id: self.type_id,
                pending,
                stored: encoder.stored,
                refusals: encoder.refusals,
            });
        }
        Ok(all)
    }
}

/// Builds a batch of the next rows of a job: as many rows as one batch can hold.
struct Encoder<'j> {
    job: &'j Job<'j>,
    /// The rows that are not in a batch yet.
    rows: &'j [Row],
    target: &'j Target,
    refusals: Vec<(BufferIndex, Refusal)>,
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
            block.write(entry, row.version, &self.target.last_updated_text, &mut text);
            shared_refs.clear();
            shared_refs.extend(block.shared_refs(entry).map(str::to_owned));
            let pushed = match tape.parse(&text) {
                Ok(root) => {
                    let system = SystemValues {
                        owner: entry.owner,
                        id: block.id(entry),
                        patient: block.patient(entry),
                        application: &self.target.application,
                        authorization: block.source().map(|source| source.authorization.as_str()),
                        endpoint: block.source().map(|source| source.endpoint.as_str()),
                        version: row.version,
                        last_updated: self.target.last_updated,
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
                        type_id: Some(block.type_id),
                        reason,
                    };
                    self.refusals.push((row.chain, refusal));
                }
            }
        }
        let path = PathBuf::from(facts().get(self.job.type_id).name);
        shredder.finish().map_err(|error| {
            LakeError::Parquet {
                action: "write",
                path,
                source: error.into(),
            }
            .into()
        })
    }

    /// Returns a bloom filter of the ids of the written rows. It tells the import whether this file may have a row with
    /// a given id.
    fn ids(&self) -> Result<Sbbf, IngestError> {
        let path = PathBuf::from(facts().get(self.job.type_id).name);
        let mut filter = Sbbf::new_with_ndv_fpp(self.ids.len() as u64, 0.001).map_err(|source| LakeError::Parquet {
            action: "write",
            path,
            source,
        })?;
        self.ids.iter().for_each(|id| filter.insert(*id));
        Ok(filter)
    }
}
