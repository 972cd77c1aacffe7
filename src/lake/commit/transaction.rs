//! A transaction: data files, deletions and new columns in any number of tables. A commit turns all of them into one
//! snapshot, or none.
//!
//! An open transaction writes files under names that no snapshot knows. The commit makes them durable, then writes the
//! catalog in one SQLite transaction. A crash in between leaves files that the next writer moves aside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{Schema, SchemaRef};

use super::super::attachment;
use super::super::attachment::{Sums, Trailer, hexadecimal};
use super::super::catalog;
use super::super::catalog::{AddedAttachment, AttachmentCommit, Commit, NewDeleteFile, NewFile, TableCommit};
use super::super::deletes;
use super::super::error::LakeError;
use super::super::owners::scope::Mode;
use super::super::seal::{FileKey, Keys};
use super::super::snapshot::{DataFile, Snapshot, TableSnapshot};
use super::super::store::disk::{file_name, remove};
use super::writer::LakeWriter;
use super::written::WrittenFile;
use crate::columns::layout::{ColumnRow, Layout, LayoutError};
use crate::fhir::{TypeId, facts};
use crate::private;

/// An open transaction. Dropping it without [`commit`](Transaction::commit) removes its files and leaves the catalog
/// unchanged.
#[derive(Debug)]
pub struct Transaction<'w> {
    writer: &'w mut LakeWriter,
    base: Arc<Snapshot>,
    time: i64,
    tables: BTreeMap<(Mode, TypeId), TableChange>,
    attachments: AttachmentCommit,
    /// The keys that sealed the new attachments.
    attachment_keys: Vec<FileKey>,
    /// The paths of files that this transaction has written. They are removed if it does not commit.
    handed_out: Vec<PathBuf>,
    /// Whether earlier transactions of the writer may have left orphaned files.
    left_orphans: bool,
    /// Whether the commit makes a snapshot even without changes.
    always_commits: bool,
    /// Whether the commit has begun in SQLite and has not returned successfully. Then it may have taken effect.
    is_unsure: bool,
}

/// A new attachment, with the row of `Binary` that the same transaction adds.
#[derive(Clone, Copy, Debug)]
pub struct NewAttachment<'a> {
    /// The application of the row.
    pub application: &'a str,
    /// The owner of the row.
    pub owner: i64,
    /// The id of the authorization whose sync fetched the document.
    pub authorization: &'a str,
    /// The id of the row.
    pub binary: &'a str,
    /// The path of the attachment's bytes. The transaction moves this file into the lake.
    pub bytes: &'a Path,
    /// The length and digests of the bytes.
    pub sums: &'a Sums,
    /// A hash of facts about the document. If the next sync computes the same hash, it does not fetch the document
    /// again.
    pub origin: &'a str,
}

/// The changes of one table in a transaction.
#[derive(Debug)]
struct TableChange {
    base: Option<Arc<TableSnapshot>>,
    layout: Layout,
    new_columns: Vec<ColumnRow>,
    added: Vec<WrittenFile>,
    /// Newly deleted positions by data file.
    deleted: BTreeMap<u64, BTreeSet<u64>>,
    replaced: BTreeSet<u64>,
}

impl LakeWriter {
    /// Begins a transaction on the newest snapshot. Its changes are invisible until it commits. Dropping it undoes
    /// them.
    pub fn begin(&mut self) -> Transaction<'_> {
        let (now, base) = (self.lake().clock().now(), self.lake().snapshot().time);
        // Use whole milliseconds, as in FHIR's instants. Make each snapshot later than the one before, even if the
        // clock went back.
        let millis = |micros: i64| micros.div_euclid(1_000);
        Transaction::new(self, millis(now).max(millis(base) + 1) * 1_000)
    }

    /// Begins a transaction with the clock's time, even if the newest snapshot is later. Its commit makes a snapshot
    /// even without changes, so that the snapshots after it follow the clock again.
    pub(in crate::lake) fn begin_by_the_clock(&mut self) -> Transaction<'_> {
        let time = self.lake().clock().now().div_euclid(1_000) * 1_000;
        let mut transaction = Transaction::new(self, time);
        transaction.always_commits = true;
        transaction
    }
}

impl<'w> Transaction<'w> {
    fn new(writer: &'w mut LakeWriter, time: i64) -> Transaction<'w> {
        let left_orphans = std::mem::replace(&mut writer.leaves_orphans, true);
        let base = writer.lake().snapshot();
        Transaction {
            writer,
            base,
            time,
            tables: BTreeMap::new(),
            attachments: AttachmentCommit::default(),
            attachment_keys: Vec::new(),
            handed_out: Vec::new(),
            left_orphans,
            always_commits: false,
            is_unsure: false,
        }
    }

    /// Returns the snapshot on which the transaction builds.
    pub fn base(&self) -> &Arc<Snapshot> {
        &self.base
    }

    /// Returns the time of the snapshot that the commit makes, in microseconds since 1970: a whole millisecond. It is
    /// later than the base's, unless the transaction mends times. Rows take it as their `last_updated`.
    pub fn time(&self) -> i64 {
        self.time
    }

    /// Returns the keys that seal the transaction's files.
    pub fn keys(&self) -> &Keys {
        self.writer.lake().folder().keys()
    }

    /// Returns the columns of a table, including those that this transaction adds.
    pub fn layout(&mut self, mode: Mode, type_id: TypeId) -> &Layout {
        &self.change(mode, type_id).layout
    }

    /// Adds field ids to the columns of `schema`. The commit adds new columns to the table.
    pub fn adopt(&mut self, mode: Mode, type_id: TypeId, schema: &Schema) -> Result<SchemaRef, LayoutError> {
        let change = self.change(mode, type_id);
        let adopted = change.layout.adopt(schema)?;
        change.new_columns.extend(adopted.new);
        Ok(adopted.schema)
    }

    /// Returns a path for a new data file of a table. Creates the table's folder if it is missing.
    pub fn new_file_path(&mut self, mode: Mode, type_id: TypeId) -> Result<PathBuf, LakeError> {
        self.new_path(mode, type_id, ".parquet")
    }

    /// Adds a data file written to a path from [`new_file_path`](Transaction::new_file_path) with an adopted schema.
    pub fn add_file(&mut self, mode: Mode, type_id: TypeId, file: WrittenFile) {
        self.change(mode, type_id).added.push(file);
    }

    /// Deletes rows of a data file of the base snapshot, by position in the file. Rows that are already deleted stay
    /// deleted.
    pub fn delete_rows(
        &mut self,
        mode: Mode,
        type_id: TypeId,
        data_file: u64,
        positions: impl IntoIterator<Item = u64>,
    ) -> Result<(), LakeError> {
        let change = self.change(mode, type_id);
        let rows = change.file(data_file)?.rows;
        let deleted = change.deleted.entry(data_file).or_default();
        for position in positions {
            if position >= rows {
                return Err(LakeError::Unknown(format!("row {position} of data file {data_file}")));
            }
            deleted.insert(position);
        }
        Ok(())
    }

    /// Replaces the files with the ids `old` by `new` files that hold the same rows.
    pub fn replace_files(
        &mut self,
        mode: Mode,
        type_id: TypeId,
        old: impl IntoIterator<Item = u64>,
        new: impl IntoIterator<Item = WrittenFile>,
    ) -> Result<(), LakeError> {
        let change = self.change(mode, type_id);
        for id in old {
            change.file(id)?;
            change.replaced.insert(id);
        }
        change.added.extend(new);
        Ok(())
    }

    /// Moves an attachment into the lake. If the same `Binary` row already has an attachment, the new one replaces
    /// it.
    pub fn add_attachment(&mut self, mode: Mode, new: NewAttachment<'_>) -> Result<(), LakeError> {
        let dir = self.writer.lake().folder().table(mode, attachment::TABLE);
        private::folder(&dir).map_err(LakeError::io("create", &dir))?;
        // If new files are sealed, use the key with which the bytes were sealed, or the new key if the bytes are clear.
        let key = self.keys().make()?.map(|made| new.sums.key.clone().unwrap_or(made));
        let whose = attachment::name_begin(self.writer.lake().owner_key(), mode, new.application, new.owner);
        let path = dir.join(attachment::new_name(&whose, key.as_ref().map(FileKey::id)));
        self.handed_out.push(path.clone());
        let trailer = Trailer {
            mode: mode.schema().to_owned(),
            application: new.application.to_owned(),
            owner: new.owner,
            authorization: new.authorization.to_owned(),
            binary: new.binary.to_owned(),
            bytes: new.sums.bytes,
            sha256: hexadecimal(&new.sums.sha256),
            sha1: hexadecimal(&new.sums.sha1),
            origin: new.origin.to_owned(),
            time: self.time,
        };
        let file_bytes = attachment::seal(new.bytes, &path, new.sums, &trailer, key.as_ref())?;
        self.attachment_keys.extend(key);
        self.attachments.added.push(AddedAttachment {
            mode,
            name: file_name(&path),
            file_bytes,
            trailer,
        });
        Ok(())
    }

    /// Records another origin for an unchanged attachment, given by its number in the catalog.
    pub fn set_origin(&mut self, number: u64, origin: &str) {
        self.attachments.origins.push((number, origin.to_owned()));
    }

    /// Whether the transaction has no changes.
    pub fn is_empty(&self) -> bool {
        self.tables.values().all(TableChange::is_empty) && self.attachments.is_empty()
    }

    /// Commits all changes as one new snapshot, which is durable when this returns. Without changes there is no
    /// commit, and the result is the base snapshot.
    pub fn commit(mut self, author: &str, message: &str) -> Result<Arc<Snapshot>, LakeError> {
        if self.merges_what_is_erased() {
            return Err(LakeError::Erasing);
        }
        let mut tables = std::mem::take(&mut self.tables);
        tables.retain(|_, change| !change.is_empty());
        let attachments = std::mem::take(&mut self.attachments);
        if tables.is_empty() && attachments.is_empty() && !self.always_commits {
            return Ok(Arc::clone(&self.base));
        }
        let mut commits = Vec::with_capacity(tables.len());
        for ((mode, type_id), change) in &tables {
            commits.push(self.prepare(*mode, *type_id, change)?);
        }
        sync_files(&self.handed_out)?;
        // Make a file's key durable before the catalog names the file. An unused key is harmless. A file without its
        // key is lost.
        let files = commits
            .iter()
            .flat_map(|table| table.files.iter().filter_map(|file| file.written.key.as_ref()));
        let deletes = commits
            .iter()
            .flat_map(|table| table.deletes.iter().filter_map(|file| file.key.as_ref()));
        self.writer
            .lake()
            .folder()
            .keep_keys(files.chain(deletes).chain(&self.attachment_keys))?;
        if !attachments.is_empty() {
            catalog::watch_attachments(&self.writer.connection)?;
        }
        let keys = self.writer.lake().folder().keys().clone();
        let commit = Commit {
            base: self.base.id,
            time: self.time,
            author,
            message,
            tables: commits,
            attachments,
            keys: &keys,
        };
        // From here on the files may belong to a snapshot even if an error is returned. The next writer checks this.
        self.handed_out.clear();
        self.is_unsure = true;
        let inserted = catalog::insert(&mut self.writer.connection, &commit);
        if let Err(LakeError::Conflict { .. }) = &inserted {
            // Load the new state, so that the next transaction can start from it.
            catalog::watch_anew(&self.writer.connection)?;
            self.writer.lake().refresh()?;
        }
        inserted?;
        self.is_unsure = false;
        let snapshot = self.writer.publish(&self.base)?;
        // Write the mark now. Do not wait until the writer ends, because the process may be killed before that.
        self.writer.mark_commit();
        Ok(snapshot)
    }

    /// Whether a replaced file may hold rows of an unfinished erasure. The new file would hold them too, and the
    /// erasure does not cover new files.
    fn merges_what_is_erased(&self) -> bool {
        self.tables.iter().any(|((mode, _), change)| {
            let replaced = change.replaced.iter().filter_map(|id| change.file(*id).ok());
            let erasures = &self.base.erasures;
            replaced
                .into_iter()
                .any(|file| erasures.may_reach(*mode, file.id, &file.owners))
        })
    }

    /// Writes a table's delete files. Returns all changes of the table for the catalog.
    fn prepare<'c>(
        &mut self,
        mode: Mode,
        type_id: TypeId,
        change: &'c TableChange,
    ) -> Result<TableCommit<'c>, LakeError> {
        let base = change.base.as_deref();
        let mut commit = TableCommit {
            mode,
            name: facts().get(type_id).name,
            id: base.map(|base| base.table_id),
            layout: &change.layout,
            new_columns: &change.new_columns,
            files: Vec::with_capacity(change.added.len()),
            ended_files: Vec::new(),
            ended_deletes: Vec::new(),
            deletes: Vec::new(),
            ended_rows: 0,
            bytes: base.map_or(0, |base| base.bytes),
            compaction: !change.replaced.is_empty(),
        };
        for written in &change.added {
            commit.bytes += written.bytes;
            commit.files.push(NewFile {
                name: file_name(&written.path),
                written,
            });
        }
        for id in &change.replaced {
            end(&mut commit, change.file(*id)?);
        }
        for (id, positions) in change.deleted.iter().filter(|(id, _)| !change.replaced.contains(id)) {
            let file = change.file(*id)?;
            let mut all = positions.clone();
            if let Some(earlier) = &file.deletes {
                all.extend(deletes::read(&earlier.path, self.keys())?);
            }
            if all.len() as u64 == file.rows {
                end(&mut commit, file);
            } else if all.len() as u64 > file.deletes.as_ref().map_or(0, |earlier| earlier.count) {
                let deletes = self.write_deletes(mode, type_id, file, all)?;
                commit.bytes += deletes.bytes;
                if let Some(earlier) = &file.deletes {
                    commit.ended_deletes.push(earlier.id);
                    commit.bytes -= earlier.bytes;
                }
                commit.deletes.push(deletes);
            }
        }
        Ok(commit)
    }

    fn write_deletes(
        &mut self,
        mode: Mode,
        type_id: TypeId,
        file: &DataFile,
        positions: BTreeSet<u64>,
    ) -> Result<NewDeleteFile, LakeError> {
        let path = self.new_path(mode, type_id, deletes::SUFFIX)?;
        let data = self.writer.lake().folder().data();
        let data_file = file
            .path
            .strip_prefix(&data)
            .unwrap_or(&file.path)
            .to_string_lossy()
            .into_owned();
        let positions: Vec<u64> = positions.into_iter().collect();
        let written = deletes::write(&path, &data_file, &positions, self.keys())?;
        Ok(NewDeleteFile {
            name: file_name(&path),
            data_file: file.id,
            count: positions.len() as u64,
            bytes: written.bytes,
            footer_size: written.footer_size,
            key: written.key,
        })
    }

    fn new_path(&mut self, mode: Mode, type_id: TypeId, suffix: &str) -> Result<PathBuf, LakeError> {
        let dir = self.writer.lake().folder().table(mode, facts().get(type_id).name);
        private::folder(&dir).map_err(LakeError::io("create", &dir))?;
        let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
        let path = dir.join(format!("{number:016x}{suffix}"));
        self.handed_out.push(path.clone());
        Ok(path)
    }

    fn change(&mut self, mode: Mode, type_id: TypeId) -> &mut TableChange {
        self.tables.entry((mode, type_id)).or_insert_with(|| {
            let base = self.base.table(mode, type_id).cloned();
            let layout = base
                .as_ref()
                .map_or_else(|| Layout::new(type_id), |base| Layout::clone(&base.layout));
            TableChange {
                base,
                layout,
                new_columns: Vec::new(),
                added: Vec::new(),
                deleted: BTreeMap::new(),
                replaced: BTreeSet::new(),
            }
        })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // If a file cannot be removed now, a later cleanup moves it aside as an orphan.
        let failed = self.handed_out.iter().filter(|path| remove(path).is_err()).count();
        self.writer.leaves_orphans = self.left_orphans || self.is_unsure || failed > 0;
    }
}

impl TableChange {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.deleted.values().all(BTreeSet::is_empty) && self.replaced.is_empty()
    }

    fn file(&self, id: u64) -> Result<&Arc<DataFile>, LakeError> {
        let file = self.base.as_ref().and_then(|base| base.file(id));
        file.ok_or_else(|| LakeError::Unknown(format!("data file {id}")))
    }
}

/// Ends a data file and its delete file with this commit.
fn end(commit: &mut TableCommit<'_>, file: &DataFile) {
    commit.ended_rows += file.rows;
    commit.bytes -= file.bytes;
    commit.ended_files.push(file.id);
    if let Some(deletes) = &file.deletes {
        commit.bytes -= deletes.bytes;
        commit.ended_deletes.push(deletes.id);
    }
}

/// The number of files that are synced at the same time.
const SYNCS_AT_ONCE: usize = 16;

/// Makes files and their directory entries durable. Syncs several at a time, because the file system then shares one
/// journal commit among them (20 files in 20 folders: 100 ms one after the other, 10 ms together).
pub(in crate::lake) fn sync_files(paths: &[PathBuf]) -> Result<(), LakeError> {
    let mut all: BTreeSet<&Path> = BTreeSet::new();
    for path in paths {
        // The folders above may be new as well: table, mode, data.
        all.extend(path.ancestors().take(4));
    }
    let next = Mutex::new(all.iter());
    let sync_some = || {
        loop {
            let Some(path) = next.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                return Ok(());
            };
            match std::fs::File::open(path) {
                // `new_path` has returned this path, but no file was written to it.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                file => file
                    .and_then(|file| file.sync_all())
                    .map_err(LakeError::io("sync", path))?,
            }
        }
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..all.len().min(SYNCS_AT_ONCE))
            .map(|_| scope.spawn(sync_some))
            .collect();
        running
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
