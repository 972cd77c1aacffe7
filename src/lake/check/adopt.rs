//! Makes a new catalog from the data files, for a lake whose catalog is missing or wrong.
//!
//! It takes the data files of `data/` that it can read completely, with their field ids. It leaves out the files that
//! the old catalog has released. It keeps the newest version of each resource, without the rows in delete files. It
//! renames the old catalog, and moves the unreadable files to another folder. History is lost: the new catalog has one
//! snapshot.
//!
//! Erased rows do not come back. Blank rows stay deleted. If an erasure has rewritten a file and the old file is still
//! there, the old file is removed. Unfinished erasures in the old catalog or its mark are recorded again. The numbers
//! of snapshots and erasures continue after those in the old catalog or its mark. So a link to an old snapshot never
//! finds a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rustc_hash::FxHashSet;

use super::attachments::{found_attachments, taken_attachments};
use super::candidate::Candidate;
use super::choice::{Choice, choose};
use super::columns::Columns;
use crate::columns::layout::{ColumnRow, Layout};
use crate::fhir::{TypeId, facts};
use crate::lake::attachment::{TABLE, is_attachment};
use crate::lake::catalog::{self, AttachmentCommit, Commit, KeptEvidence, NewDeleteFile, NewFile, TableCommit};
use crate::lake::clock::{Clock, SystemClock};
use crate::lake::commit::lock::WriteLock;
use crate::lake::commit::mark::Mark;
use crate::lake::commit::orphans;
use crate::lake::commit::transaction::sync_files;
use crate::lake::deletes;
use crate::lake::erase::Intent;
use crate::lake::erase::ledger::{self, Entered};
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::{self, KekSource, Kind};
use crate::lake::store::disk::file_name;
use crate::lake::store::disk::{remove, sync_folder};
use crate::lake::store::folder::Folder;
use crate::lake::store::survey::survey;
use crate::private;

/// The result of an adoption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adopted {
    /// The number of data files in the new catalog.
    pub files: u64,
    /// The number of resources in these files.
    pub rows: u64,
    /// The number of attachments in the new catalog.
    pub attachments: u64,
    /// The number of files that the new catalog does not need: data files without a row in the new catalog, old
    /// delete files, attachments without a row, and files that the old catalog had released. They were moved to
    /// `data/.orphans`.
    pub moved_aside: u64,
    /// The number of data files that were removed. An erasure had rewritten each of them, so they still had erased
    /// rows.
    pub removed: u64,
    /// The number of unfinished erasures. They were recorded again, so the next writer finishes them.
    pub erasures: u64,
    /// The number of erasures in the ledger that count as carried out, because no catalog says which of them the lake
    /// has had. Zero if the old catalog says it.
    pub carried_out: u64,
    /// Files that were not adopted, each with the reason. They were moved to [`kept_in`](Adopted::kept_in).
    pub unfit: Vec<(PathBuf, String)>,
    /// The folder with the files that were not adopted. `None` if there are none.
    pub kept_in: Option<PathBuf>,
    /// The new path of the old catalog, if there was one.
    pub old_catalog: Option<PathBuf>,
}

/// The reason for not adopting a file that is in no table's folder.
const NO_FILE: &str = "it is no file of a table";

/// A table of the new catalog.
struct Table {
    mode: Mode,
    type_id: TypeId,
    layout: Layout,
    columns: Vec<ColumnRow>,
    files: Vec<Candidate>,
    choice: Choice,
}

/// The readable parts of the old catalog.
#[derive(Default)]
struct Old {
    key: Option<OwnerKey>,
    /// The record of the ledger of erasures.
    ledger: Option<Entered>,
    erasures: Vec<Intent>,
    time: i64,
    snapshot: u64,
    epoch: u64,
    /// The paths of files that the old catalog has released.
    scheduled: FxHashSet<PathBuf>,
    /// Evidence of finished erasures, if no caller has removed this evidence yet. Receipts need it.
    evidence: Vec<KeptEvidence>,
}

/// The limit of snapshot ids and of counts of erasures. If the old catalog or its mark has this number or a higher one,
/// the number is damaged and is ignored.
const MAX_SNAPSHOT: u64 = 1 << 53;

/// Makes a new catalog from the data files of a folder. Returns [`LakeError::Busy`] while another process writes the
/// lake.
pub fn adopt(dir: impl AsRef<Path>) -> Result<Adopted, LakeError> {
    adopt_with(dir.as_ref(), &KekSource::default())
}

/// Makes a new catalog as [`adopt`] does, with this source of a sealed lake's key-encryption key. The new catalog
/// says that the lake is sealed if its files are.
pub fn adopt_with(dir: &Path, source: &KekSource) -> Result<Adopted, LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    folder.refuse_restoring()?;
    let kind = kind(&folder)?;
    let folder = folder.unlock(kind, source)?;
    if !folder.data().is_dir() {
        return Err(LakeError::Missing(folder.path().to_owned()));
    }
    let _lock = WriteLock::take(&folder)?;
    let now = SystemClock.now();
    let mark = Mark::read(&folder);
    let old = old_catalog(&folder, mark.as_ref());
    let mut adopted = Adopted::default();
    let all = survey(&folder, Default::default())?.unnamed;
    let (given_up, of_tables): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| old.scheduled.contains(path));
    let attached = found_attachments(&folder, &of_tables, &mut adopted.unfit);
    let data_files: Vec<PathBuf> = of_tables.iter().filter(|path| !is_attachment(path)).cloned().collect();
    let tables = tables(&folder, &data_files, &mut adopted)?;
    let attached = taken_attachments(&attached, now, |mode, application, id| {
        updated(&tables, mode, application, id)
    });
    adopted.attachments = attached.len() as u64;
    let attachment_files: Vec<PathBuf> = attached.iter().map(|(_, path)| path.clone()).collect();
    let attachments = AttachmentCommit {
        added: attached.into_iter().map(|(added, _)| added).collect(),
        origins: Vec::new(),
    };
    let key = owner_key(&folder, &old, mark.as_ref(), &tables)?;

    let path = catalog::make(&folder, now, key)?;
    let mut connection = catalog::open_writer(&path)?;
    // The ledger may have erasures that the old catalog has counted, though nobody can read that any more. The next
    // erasures get higher numbers, and a restore of a later backup does not repeat the earlier ones.
    let entered = ledger::entered_at_place(folder.path(), key);
    let entered = entered.filter(|(entered, _)| old.ledger.as_ref().is_none_or(|old| old.ledger == entered.ledger));
    let newest = entered.as_ref().map_or(0, |(_, newest)| *newest);
    catalog::count_on(&mut connection, old.snapshot, old.epoch.max(newest))?;
    if old.ledger.is_none() {
        adopted.carried_out = entered.as_ref().map_or(0, |(entered, _)| entered.entries);
    }
    let ledger = old.ledger.clone().or(entered.map(|(entered, _)| entered));
    if ledger.is_some() {
        catalog::set_ledger(&mut connection, ledger.as_ref())?;
    }
    if kind.has_keys() {
        catalog::set_kind(&connection, kind)?;
        // Drop the list of keys of expired files, because nobody knows which files have expired. Without this list
        // the next writer destroys no key.
        catalog::unlist_expired_keys(&connection)?;
        if mark.as_ref().is_some_and(Mark::has_keys_to_destroy) {
            catalog::have_keys_destroyed(&connection)?;
        }
    }
    let made = New { attachments, now };
    let delete_files = fill(&mut connection, &folder, &tables, &old, made, &mut adopted)?;
    if !old.erasures.is_empty() {
        catalog::record(&mut connection, &old.erasures.iter().collect::<Vec<_>>())?;
        adopted.erasures = old.erasures.len() as u64;
    }
    catalog::put_entries(&mut connection, &old.evidence)?;
    let new_mark = Mark::take(&connection, catalog::digest(&connection)?, None)?;
    connection.close().map_err(|(_, error)| error)?;
    let synced = std::fs::File::open(&path).and_then(|file| file.sync_all());
    synced.map_err(LakeError::io("sync", &path))?;

    // Write the mark first. It has the owner key and the erasures, and its numbers make the old catalog count as an
    // older copy. If this call is interrupted from here on, the lake is refused until the call is repeated.
    new_mark.write(&folder, mark.as_ref())?;
    let time = chrono::DateTime::<chrono::Utc>::from_timestamp_micros(now).unwrap_or_default();
    let time = time.format("%Y%m%dT%H%M%S%6fZ").to_string();
    adopted.old_catalog = folder.keep_catalog(&time)?;
    let mut settled = set_aside(&folder, &tables, &time, &mut adopted)?;
    sync_folder(folder.path())?;
    std::fs::rename(&path, folder.catalog()).map_err(LakeError::io("rename", &path))?;
    sync_folder(folder.path())?;
    // All other files are not needed. If this call is interrupted here, the next writer moves them aside.
    settled.extend(delete_files.into_iter().chain(attachment_files));
    let rest = of_tables.into_iter().filter(|path| !settled.contains(path));
    let rest: Vec<PathBuf> = rest.chain(given_up).collect();
    adopted.moved_aside = rest.len() as u64;
    orphans::move_aside(&folder, &rest, now);
    Ok(adopted)
}

/// Returns the kind of the lake: in conversion if the catalog or its mark says so and there are keys, otherwise the
/// kind of its files. A lake without files is sealed if there are keys.
fn kind(folder: &Folder) -> Result<Kind, LakeError> {
    let recorded = catalog::open_reader(folder).and_then(|connection| catalog::kind(&connection));
    let recorded = recorded.ok().filter(|kind| kind.is_halfway());
    let marked = || Mark::read(folder).and_then(|mark| mark.halfway());
    if let Some(kind) = recorded.or_else(marked).filter(|_| folder.has_keys()) {
        return Ok(kind);
    }
    let files = survey(folder, Default::default())?.unnamed;
    if files.iter().any(|path| seal::is_sealed(path)) || files.is_empty() && folder.has_keys() {
        Ok(Kind::Sealed)
    } else {
        Ok(Kind::Open)
    }
}

/// The attachments and the time of the new catalog's snapshot.
struct New {
    attachments: AttachmentCommit,
    now: i64,
}

/// Returns the `last_updated` of a row of `Binary` in the new catalog, if the row is there.
fn updated(tables: &[Table], mode: Mode, application: &str, id: &str) -> Option<i64> {
    let is_meant = |table: &&Table| table.mode == mode && facts().get(table.type_id).name == TABLE;
    let table = tables.iter().find(is_meant)?;
    let mut taken = table.choice.taken.iter();
    taken.find_map(|(at, gone)| table.files[*at].updated(application, id, gone))
}

/// Moves unfit files out of the data folder, and removes files with erased rows. Both happen before the new catalog
/// exists, because afterwards a writer would move these files aside as orphans. Returns the paths of these files and
/// of the adopted data files.
fn set_aside(
    folder: &Folder,
    tables: &[Table],
    time: &str,
    adopted: &mut Adopted,
) -> Result<BTreeSet<PathBuf>, LakeError> {
    let mut settled = BTreeSet::new();
    for table in tables {
        for at in &table.choice.erased {
            remove(&table.files[*at].written.path)?;
            adopted.removed += 1;
        }
        let erased = table.choice.erased.iter().copied();
        let taken = table.choice.taken.iter().map(|(at, _)| *at);
        settled.extend(erased.chain(taken).map(|at| table.files[at].written.path.clone()));
    }
    if adopted.unfit.is_empty() {
        return Ok(settled);
    }
    let aside = folder.kept_files(time);
    for (path, _) in &adopted.unfit {
        let to = aside.join(path.strip_prefix(folder.data()).unwrap_or(path));
        let parent = to.parent().unwrap_or(&aside);
        crate::private::folder(parent).map_err(LakeError::io("create", parent))?;
        std::fs::rename(path, &to).map_err(LakeError::io("rename", path))?;
        settled.insert(path.clone());
    }
    adopted.kept_in = Some(aside);
    Ok(settled)
}

fn old_catalog(folder: &Folder, mark: Option<&Mark>) -> Old {
    let read = |connection: &Connection| -> Result<Old, LakeError> {
        let snapshot = catalog::load(connection, folder, None)?;
        Ok(Old {
            key: Some(catalog::owner_key(connection)?),
            ledger: catalog::ledger(connection).unwrap_or_default(),
            erasures: catalog::unfinished(connection)?,
            time: snapshot.time,
            snapshot: snapshot.id,
            epoch: snapshot.erasures.epoch,
            scheduled: given_up(connection, folder).unwrap_or_default(),
            evidence: Vec::new(),
        })
    };
    let opened = catalog::open_reader(folder);
    // Read the evidence by itself, because it may be intact although another table is damaged.
    let mut old = match &opened {
        Ok(connection) => Old {
            evidence: catalog::all_entries(connection).unwrap_or_default(),
            ..read(connection).unwrap_or_default()
        },
        Err(_) => Old::default(),
    };
    for erasure in mark.map(Mark::unfinished_erasures).unwrap_or_default() {
        if !old.erasures.contains(&erasure) {
            old.erasures.push(erasure);
        }
    }
    let marked = mark.and_then(Mark::ledger).cloned();
    old.ledger = match (old.ledger, marked) {
        // The mark may be newer than the old catalog.
        (Some(old), Some(marked)) if old.ledger == marked.ledger && marked.entries > old.entries => Some(marked),
        (old, marked) => old.or(marked),
    };
    let (snapshot, epoch) = mark.map(Mark::counts).unwrap_or_default();
    let highest = |one: u64, other: u64| [one, other].into_iter().filter(|count| *count < MAX_SNAPSHOT).max();
    old.snapshot = highest(old.snapshot, snapshot).unwrap_or_default();
    old.epoch = highest(old.epoch, epoch).unwrap_or_default();
    old
}

/// Returns the files that a catalog has released and no longer names.
fn given_up(connection: &Connection, folder: &Folder) -> Result<FxHashSet<PathBuf>, LakeError> {
    let mut scheduled = catalog::scheduled(connection, folder)?;
    if !scheduled.is_empty() {
        let named = catalog::named(connection, &folder.data())?;
        scheduled.retain(|path| !named.contains_key(path));
    }
    Ok(scheduled)
}

/// Returns the key that hashed the owners in the files: from the old catalog, from the mark, or from the bytes of a
/// damaged catalog. Returns an error if none of these keys fits, unless no row needs a key.
fn owner_key(folder: &Folder, old: &Old, mark: Option<&Mark>, tables: &[Table]) -> Result<OwnerKey, LakeError> {
    let marked = mark.and_then(Mark::owner_key);
    let found = || catalog::find_owner_key(&private::read(&folder.catalog()).ok()?);
    let keys: Vec<OwnerKey> = [old.key, marked].into_iter().flatten().chain(found()).collect();
    let files = || tables.iter().flat_map(|table| &table.files);
    let fits = |key: &&OwnerKey| files().all(|file| file.fits(**key) != Some(false));
    let key = keys.iter().find(fits).copied();
    if let Some(key) = key {
        return Ok(key);
    }
    // The owners 0 and 1 are not hashes. If there are no other owners, a new key can be used.
    let is_needed = files().any(|file| file.owned.is_some() || *file.written.owners.end() > 1);
    if !is_needed {
        return Ok(OwnerKey::random());
    }
    Err(LakeError::Damaged(
        "its owner key is lost, without which nobody's records can be told from another's; it stands in catalog.mark and in \
         every copy of catalog.sqlite: put one of them back"
            .to_owned(),
    ))
}

/// Reads the tables of the data folder, with the files that can be adopted. Adds the others to `adopted.unfit`.
fn tables(folder: &Folder, all: &[PathBuf], adopted: &mut Adopted) -> Result<Vec<Table>, LakeError> {
    let data = folder.data();
    let mut by_table: BTreeMap<(&'static str, String), Vec<&PathBuf>> = BTreeMap::new();
    for path in all {
        let parts: Vec<String> = path
            .strip_prefix(&data)
            .unwrap_or(path)
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        let mode = [Mode::Live, Mode::Test]
            .into_iter()
            .find(|mode| parts[0] == mode.schema());
        match (mode, parts.as_slice()) {
            (Some(mode), [_, table, name]) if name.ends_with(".parquet") => {
                by_table.entry((mode.schema(), table.clone())).or_default().push(path);
            }
            _ => adopted.unfit.push((path.clone(), NO_FILE.to_owned())),
        }
    }
    let mut tables = Vec::new();
    for ((schema, name), paths) in by_table {
        let Some(type_id) = facts().lookup(&name) else {
            let paths = paths.into_iter();
            adopted
                .unfit
                .extend(paths.map(|path| (path.clone(), NO_FILE.to_owned())));
            continue;
        };
        let mode = if schema == Mode::Live.schema() {
            Mode::Live
        } else {
            Mode::Test
        };
        tables.push(table(folder, mode, type_id, &paths, adopted)?);
    }
    Ok(tables)
}

fn table(
    folder: &Folder,
    mode: Mode,
    type_id: TypeId,
    paths: &[&PathBuf],
    adopted: &mut Adopted,
) -> Result<Table, LakeError> {
    let is_deletes = |path: &PathBuf| path.to_string_lossy().ends_with(deletes::SUFFIX);
    let mut files = Vec::new();
    for path in paths.iter().filter(|path| !is_deletes(path)) {
        match Candidate::read(path.to_path_buf(), type_id, folder.keys()) {
            Ok(file) => files.push(file),
            Err(error) => adopted.unfit.push((path.to_path_buf(), error.to_string())),
        }
    }
    // Begin with the oldest file. A later file is refused if its columns contradict earlier files: a transaction that
    // never committed may have used column ids that a later transaction has used again for other columns.
    files.sort_by_key(|file| (*file.written.last_updated.start(), file.written.path.clone()));
    let mut columns = Columns::new(type_id);
    let mut fitting = Vec::with_capacity(files.len());
    for file in files {
        if columns.add(&file.schema) {
            fitting.push(file);
        } else {
            let why = "its columns contradict those of other files".to_owned();
            adopted.unfit.push((file.written.path, why));
        }
    }
    let mut deleted: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for path in paths.iter().filter(|path| is_deletes(path)) {
        let (about, positions) = match deletes::read_named(path, folder.keys()) {
            Ok((Some(about), positions)) => (folder.data().join(about), positions),
            Ok((None, _)) => continue,
            Err(error) => {
                adopted.unfit.push((path.to_path_buf(), error.to_string()));
                continue;
            }
        };
        if let Some(at) = fitting.iter().position(|file| file.written.path == about) {
            deleted.entry(at).or_default().extend(positions);
        }
    }
    let unfit = |error| LakeError::Damaged(format!("columns of {}: {error}", facts().get(type_id).name));
    let choice = choose(&fitting, deleted);
    let (layout, columns) = columns.finish().map_err(unfit)?;
    Ok(Table {
        mode,
        type_id,
        layout,
        columns,
        files: fitting,
        choice,
    })
}

/// Writes delete files and the one snapshot. Returns the paths of the delete files.
fn fill(
    connection: &mut Connection,
    folder: &Folder,
    tables: &[Table],
    old: &Old,
    New { attachments, now }: New,
    adopted: &mut Adopted,
) -> Result<BTreeSet<PathBuf>, LakeError> {
    let (mut delete_files, mut commits) = (BTreeSet::new(), Vec::new());
    let (mut next_id, mut time) = (0, now.max(old.time));
    for table in tables.iter().filter(|table| !table.choice.taken.is_empty()) {
        let name = facts().get(table.type_id).name;
        let mut commit = TableCommit {
            mode: table.mode,
            name,
            id: None,
            layout: &table.layout,
            new_columns: &table.columns,
            files: Vec::new(),
            ended_files: Vec::new(),
            ended_deletes: Vec::new(),
            deletes: Vec::new(),
            ended_rows: 0,
            bytes: 0,
            compaction: false,
        };
        // The commit numbers files in this order: a table's data files, then its delete files.
        for (id, (at, gone)) in (next_id..).zip(&table.choice.taken) {
            let written = &table.files[*at].written;
            time = time.max(*written.last_updated.end());
            adopted.rows += written.rows - gone.len() as u64;
            commit.bytes += written.bytes;
            commit.files.push(NewFile {
                name: file_name(&written.path),
                written,
            });
            if gone.is_empty() {
                continue;
            }
            let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
            let path = folder
                .table(table.mode, name)
                .join(format!("{number:016x}{}", deletes::SUFFIX));
            let about = written.path.strip_prefix(folder.data()).unwrap_or(&written.path);
            let positions: Vec<u64> = gone.iter().copied().collect();
            let made = deletes::write(&path, &about.to_string_lossy(), &positions, folder.keys())?;
            commit.bytes += made.bytes;
            commit.deletes.push(NewDeleteFile {
                name: file_name(&path),
                data_file: id,
                count: positions.len() as u64,
                bytes: made.bytes,
                footer_size: made.footer_size,
                key: made.key,
            });
            delete_files.insert(path);
        }
        next_id += (commit.files.len() + commit.deletes.len()) as u64;
        adopted.files += commit.files.len() as u64;
        commits.push(commit);
    }
    sync_files(&delete_files.iter().cloned().collect::<Vec<_>>())?;
    let made = commits.iter().flat_map(|table| &table.deletes);
    folder.keep_keys(made.filter_map(|file| file.key.as_ref()))?;
    let commit = Commit {
        base: old.snapshot,
        time: (time.div_euclid(1_000) + 1) * 1_000,
        author: "tabularium",
        message: "catalog made anew from the data files",
        tables: commits,
        attachments,
        keys: folder.keys(),
    };
    catalog::insert(connection, &commit)?;
    // The empty first snapshot has the number of the old catalog's last snapshot. Remove it, so that a link to the
    // last snapshot reports that the snapshot is gone, and does not return an empty page.
    catalog::forget_first(connection, old.snapshot)?;
    Ok(delete_files)
}
