//! Writes replacement files: a data file without the erased rows, and its delete files.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::digest;

use super::evidence::{ErasedFile, ReplacingFile, Searched};
use super::intent::Erasure;
use super::rewrite::rewrite;
use super::search::{Identifiers, search_file};
use crate::fhir::{TypeId, facts};
use crate::lake::attachment::hexadecimal;
use crate::lake::catalog::{Exchange, NewPeriod, StoredFile};
use crate::lake::deletes;
use crate::lake::error::LakeError;
use crate::lake::owners::scope::Scope;
use crate::lake::scan::{OwnRows, ScanError, own_rows};
use crate::lake::seal::Keys;
use crate::lake::snapshot::TableSnapshot;
use crate::lake::store::disk::file_name;
use crate::lake::store::folder::Folder;
use crate::private;

/// A new file of at least this many bytes is synced as soon as it is written, while other files are being rewritten.
/// Smaller files are synced together at the end, because the file system then shares one journal commit among them.
const SYNCED_EARLY: u64 = 1 << 20;

/// The paths of new files that no snapshot has yet. If this value is dropped, it removes the files.
#[derive(Debug, Default)]
pub(in crate::lake) struct Fresh(Vec<PathBuf>);

impl Fresh {
    pub(in crate::lake) fn paths(&self) -> &[PathBuf] {
        &self.0
    }

    /// Forgets the paths, so that dropping this value removes no file. Call this as soon as snapshots may have the
    /// files.
    pub(in crate::lake) fn keep(&mut self) {
        self.0.clear();
    }

    pub(in crate::lake) fn add(&mut self, path: PathBuf) -> PathBuf {
        self.0.push(path.clone());
        path
    }

    pub(in crate::lake) fn append(&mut self, mut other: Fresh) {
        self.0.append(&mut other.0);
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        for path in &self.0 {
            // Ignore errors. Some of the files were never written. If a file cannot be removed now, the next writer
            // moves it aside.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The rows of one erasure in one file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) erasure: u64,
    pub(super) type_id: TypeId,
    /// The number of the erasure's rows in the file, of all snapshots. Rows that an earlier erasure has made blank do
    /// not count.
    pub(super) rows: u64,
    /// The number of the erasure's rows in the file that are resources of the newest snapshot.
    pub(super) live: u64,
    /// The evidence about the file. `None` before `describe` collects it, and if all of the erasure's rows were blank
    /// already.
    pub(super) file: Option<ErasedFile>,
    /// Whether a new file replaces this one. `false` if no other row of this file is left in any snapshot.
    pub(super) rewritten: bool,
}

/// The ids for which new files are searched, and a map from each erasure's id to the number of its subject.
#[derive(Debug)]
pub(super) struct Wanted<'a> {
    pub(super) identifiers: &'a Identifiers,
    pub(super) numbers: &'a BTreeMap<u64, u32>,
}

/// The files that replace one old file, written but not yet in the catalog. There are none if no row of the old file is
/// left in any snapshot.
#[derive(Debug)]
pub(super) struct Prepared<'p> {
    pub(super) exchange: Exchange<'p>,
    pub(super) fresh: Fresh,
    pub(super) found: Vec<Found>,
    /// The evidence about the old file, each entry with its subject. Empty unless superseded rows are erased.
    pub(super) told: Vec<(String, ErasedFile)>,
    /// The size of the new files in bytes.
    pub(super) bytes: u64,
}

/// The reason why a file could not be read or rewritten.
#[derive(Debug)]
pub(in crate::lake) enum Hindrance {
    /// The file does not exist, so it has nothing to erase.
    Gone,
    Error(LakeError),
}

impl From<LakeError> for Hindrance {
    fn from(error: LakeError) -> Hindrance {
        Hindrance::Error(error)
    }
}

/// Finds the own rows of each of these scopes in a file. A shared row is not an own row of any scope.
pub(in crate::lake) fn meant(path: &Path, id: u64, scopes: &[&Scope], keys: &Keys) -> Result<OwnRows, Hindrance> {
    own_rows(id, path, scopes, keys).map_err(|error| match error {
        ScanError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => Hindrance::Gone,
        error => Hindrance::Error(LakeError::Damaged(reasons(&error))),
    })
}

/// Writes a new file that replaces `file` without the rows of the erasures, and the delete files of the new file.
/// `oldest` is the oldest snapshot that can be read. Returns `None` if `file` has no row of the erasures.
pub(super) fn prepare<'p>(
    folder: &Folder,
    table: &'p Arc<TableSnapshot>,
    file: &StoredFile,
    erasures: &[&Erasure],
    (wanted, oldest): (&Wanted<'_>, u64),
) -> Result<Option<Prepared<'p>>, Hindrance> {
    let scopes: Vec<&Scope> = erasures.iter().map(|erasure| &*erasure.scope).collect();
    let erased = meant(&path(folder, table, file), file.id, &scopes, folder.keys())?;
    if erased.all.is_empty() {
        return Ok(None);
    }
    let mut prepared = replace(folder, table, file, erasures, &erased, oldest)?;
    describe(folder, table, file, erasures, wanted, &mut prepared)?;
    Ok(Some(prepared))
}

/// Returns the ids of the rows that each erasure covers in a file, with the number of the erasure's subject. The
/// erasures are given with these numbers.
pub(super) fn ids_of(
    folder: &Folder,
    table: &TableSnapshot,
    file: &StoredFile,
    erasures: &[(&Erasure, u32)],
) -> Result<Vec<(u32, Vec<String>)>, Hindrance> {
    let scopes: Vec<&Scope> = erasures.iter().map(|(erasure, _)| &*erasure.scope).collect();
    let rows = meant(&path(folder, table, file), file.id, &scopes, folder.keys())?;
    let numbers = erasures.iter().map(|(_, number)| *number);
    Ok(numbers.zip(rows.ids).collect())
}

/// Collects the evidence about a file for each erasure: the old SHA-256, the new file, and the result of a search in
/// the new file.
fn describe(
    folder: &Folder,
    table: &TableSnapshot,
    file: &StoredFile,
    erasures: &[&Erasure],
    wanted: &Wanted<'_>,
    prepared: &mut Prepared<'_>,
) -> Result<(), Hindrance> {
    let (data, resource_type) = (folder.data(), facts().get(table.type_id).name);
    let below = |path: &Path| path.strip_prefix(&data).unwrap_or(path).to_string_lossy().into_owned();
    let old = path(folder, table, file);
    let sha256 = sha256(&old)?;
    let new = prepared.exchange.written.as_ref();
    let new = new.map(|(name, _)| folder.table(table.mode, resource_type).join(name));
    let of = |id: u64| erasures.iter().find(|erasure| erasure.id == id);
    let asked: Vec<(&str, u32)> = prepared
        .found
        .iter()
        .filter_map(|found| {
            Some((
                &*of(found.erasure)?.scope.application,
                *wanted.numbers.get(&found.erasure)?,
            ))
        })
        .collect();
    let searched = match &new {
        Some(new) => search_file((new, folder.keys()), resource_type, wanted.identifiers, &asked)?,
        None => vec![Searched::default(); asked.len()],
    };
    let new = new
        .map(|new| Ok::<_, LakeError>((below(&new), self::sha256(&new)?)))
        .transpose()?;
    for (found, searched) in prepared
        .found
        .iter_mut()
        .zip(searched)
        .filter(|(found, _)| found.rows > 0)
    {
        found.file = Some(ErasedFile {
            path: below(&old),
            sha256: sha256.clone(),
            replaced_by: new.clone().map(|(path, sha256)| ReplacingFile {
                path,
                sha256,
                values: searched.values,
                found: searched.found,
            }),
            resource_type: resource_type.to_owned(),
            rows: found.rows,
            resources: found.live,
        });
    }
    Ok(())
}

/// Returns the SHA-256 of a file's bytes, in hexadecimal digits.
fn sha256(path: &Path) -> Result<String, LakeError> {
    let mut file = private::open(path).map_err(LakeError::io("read", path))?;
    let mut sum = digest::Context::new(&digest::SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(sum.finish().as_ref())),
            Ok(count) => sum.update(&buffer[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(LakeError::io("read", path)(error)),
        }
    }
}

/// A scope whose superseded rows are removed: its rows that only older snapshots have. `subject` and `number` say to
/// which erasure the evidence belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Superseded<'a> {
    pub(super) scope: &'a Scope,
    pub(super) subject: &'a str,
    pub(super) number: u32,
}

/// Writes a new file that replaces `file` without the superseded rows of these scopes, which the newest snapshot does
/// not have. Returns `None` if the file has no such rows, or only blank ones.
pub(super) fn prepare_superseded<'p>(
    folder: &Folder,
    table: &'p Arc<TableSnapshot>,
    file: &StoredFile,
    whose: &[Superseded<'_>],
    (identifiers, oldest): (&Identifiers, u64),
) -> Result<Option<Prepared<'p>>, Hindrance> {
    let scopes: Vec<&Scope> = whose.iter().map(|one| one.scope).collect();
    let last = file.deletes.last().filter(|deletes| deletes.end.is_none());
    if file.end.is_none() && last.is_none() {
        return Ok(None);
    }
    let mut own = meant(&path(folder, table, file), file.id, &scopes, folder.keys())?;
    if file.end.is_none()
        && let Some(last) = last
    {
        let of_table = folder.table(table.mode, facts().get(table.type_id).name);
        let gone = deletes::read(&of_table.join(&last.name), folder.keys())?;
        own.all.retain(|row| gone.binary_search(row).is_ok());
    }
    let is_blank = |row: &u64| own.blank.binary_search(row).is_ok();
    if own.all.iter().all(is_blank) {
        return Ok(None);
    }
    let mut prepared = replace(folder, table, file, &[], &own, oldest)?;
    let is_gone = |row: &&u64| own.all.binary_search(row).is_ok() && !is_blank(row);
    let of: Vec<(Superseded<'_>, u64)> = whose
        .iter()
        .zip(&own.of)
        .map(|(one, rows)| (*one, rows.iter().filter(is_gone).count() as u64))
        .filter(|(_, rows)| *rows > 0)
        .collect();
    prepared.told = tell_superseded(folder, table, file, &of, identifiers, &prepared.exchange)?;
    Ok(Some(prepared))
}

/// Collects the evidence about a file that held superseded rows, for each subject.
fn tell_superseded(
    folder: &Folder,
    table: &TableSnapshot,
    file: &StoredFile,
    of: &[(Superseded<'_>, u64)],
    identifiers: &Identifiers,
    exchange: &Exchange<'_>,
) -> Result<Vec<(String, ErasedFile)>, Hindrance> {
    let (data, resource_type) = (folder.data(), facts().get(table.type_id).name);
    let below = |path: &Path| path.strip_prefix(&data).unwrap_or(path).to_string_lossy().into_owned();
    let old = path(folder, table, file);
    let sha256_before = sha256(&old)?;
    let new = exchange.written.as_ref();
    let new = new.map(|(name, _)| folder.table(table.mode, resource_type).join(name));
    let asked: Vec<(&str, u32)> = of
        .iter()
        .map(|(one, _)| (&*one.scope.application, one.number))
        .collect();
    let (searched, sha256_after) = match &new {
        Some(new) => (
            search_file((new, folder.keys()), resource_type, identifiers, &asked)?,
            sha256(new)?,
        ),
        None => (vec![Searched::default(); asked.len()], String::new()),
    };
    let told = of.iter().zip(searched).map(|((one, rows), searched)| {
        let replaced_by = new.as_ref().map(|new| ReplacingFile {
            path: below(new),
            sha256: sha256_after.clone(),
            values: searched.values,
            found: searched.found,
        });
        let erased = ErasedFile {
            path: below(&old),
            sha256: sha256_before.clone(),
            replaced_by,
            resource_type: resource_type.to_owned(),
            rows: *rows,
            resources: 0,
        };
        (one.subject.to_owned(), erased)
    });
    Ok(told.collect())
}

fn path(folder: &Folder, table: &TableSnapshot, file: &StoredFile) -> PathBuf {
    folder
        .table(table.mode, facts().get(table.type_id).name)
        .join(&file.name)
}

/// Writes a new file that replaces `file` without the rows in `erased`, and the delete files of the new file. Writes
/// nothing if no row is left in any snapshot.
fn replace<'p>(
    folder: &Folder,
    table: &'p Arc<TableSnapshot>,
    file: &StoredFile,
    erasures: &[&Erasure],
    erased: &OwnRows,
    oldest: u64,
) -> Result<Prepared<'p>, Hindrance> {
    let (data, keys) = (folder.data(), folder.keys());
    let old = path(folder, table, file);
    let folder = folder.table(table.mode, facts().get(table.type_id).name);
    let mut prepared = Prepared {
        exchange: Exchange {
            table: table.table_id,
            layout: &table.layout,
            id: file.id,
            written: None,
            end: file.end,
            deletes: Vec::new(),
        },
        fresh: Fresh::default(),
        found: Vec::new(),
        told: Vec::new(),
        bytes: 0,
    };
    let mut deletes = Vec::with_capacity(file.deletes.len());
    for stored in &file.deletes {
        let positions = deletes::read(&folder.join(&stored.name), keys)?;
        deletes.push((stored.begin, stored.end, positions));
    }
    let gone = deletes.last().filter(|(_, end, _)| end.is_none());
    let is_live = |row: &u64| file.end.is_none() && gone.is_none_or(|(_, _, gone)| gone.binary_search(row).is_err());
    let rewritten = erased.all.len() as u64 != file.rows;
    for (erasure, of) in erasures.iter().zip(&erased.of) {
        let real = || of.iter().filter(|row| erased.blank.binary_search(row).is_err());
        if !of.is_empty() {
            prepared.found.push(Found {
                erasure: erasure.id,
                type_id: table.type_id,
                rows: real().count() as u64,
                live: real().filter(|row| is_live(row)).count() as u64,
                file: None,
                rewritten,
            });
        }
    }
    let periods = if rewritten {
        periods(file, &erased.all, deletes, oldest, &mut prepared.exchange.end)
    } else {
        Vec::new()
    };
    if periods.is_empty() {
        prepared.found.iter_mut().for_each(|found| found.rewritten = false);
    } else {
        let new = prepared.fresh.add(folder.join(format!("{}.parquet", random_name())));
        let written = rewrite(&old, &new, table.type_id, (file.rows, &erased.all), keys)?;
        if written.bytes >= SYNCED_EARLY {
            let synced = File::open(&new).and_then(|file| file.sync_all());
            synced.map_err(LakeError::io("sync", &new))?;
        }
        prepared.bytes += written.bytes;
        let named = new.strip_prefix(&data).unwrap_or(&new).to_string_lossy().into_owned();
        for (begin, end, positions) in periods {
            let path = folder.join(format!("{}{}", random_name(), deletes::SUFFIX));
            let path = prepared.fresh.add(path);
            let written = deletes::write(&path, &named, &positions, keys)?;
            prepared.bytes += written.bytes;
            prepared.exchange.deletes.push(NewPeriod {
                begin,
                end,
                name: file_name(&path),
                count: positions.len() as u64,
                bytes: written.bytes,
                footer_size: written.footer_size,
                key: written.key,
            });
        }
        prepared.exchange.written = Some((file_name(&new), written));
    }
    Ok(prepared)
}

/// Returns the texts of an error and of its causes.
pub(in crate::lake) fn reasons(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

/// A delete file to write: the first snapshot that has it, the first later snapshot that does not have it (`None` if
/// all later ones have it), and the positions.
type Period = (u64, Option<u64>, Vec<u64>);

/// Returns the delete files for the new file that replaces `file`. In every snapshot they delete the rows at `erased`
/// and the rows that `file`'s own delete files, `deletes`, delete. If a snapshot has no row left, the new file ends at
/// this snapshot: the function sets `end` and returns no later delete file. It returns no delete file for the time
/// before `oldest`, because no snapshot before `oldest` can be read.
fn periods(file: &StoredFile, erased: &[u64], deletes: Vec<Period>, oldest: u64, end: &mut Option<u64>) -> Vec<Period> {
    let mut periods = Vec::with_capacity(deletes.len() + 1);
    let first_delete = deletes.first().map_or(file.end, |(begin, _, _)| Some(*begin));
    if first_delete.is_none_or(|first| first > file.begin && first > oldest) {
        periods.push((file.begin, first_delete, erased.to_vec()));
    }
    for (begin, until, positions) in deletes {
        let all: BTreeSet<u64> = positions.into_iter().chain(erased.iter().copied()).collect();
        if all.len() as u64 == file.rows {
            *end = Some(begin);
            break;
        }
        periods.push((begin, until, all.into_iter().collect()));
    }
    periods
}

/// Returns a random name for a new file, without extension.
pub(in crate::lake) fn random_name() -> String {
    let (number, _) = uuid::Uuid::new_v4().as_u64_pair();
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(rows: u64, begin: u64, end: Option<u64>) -> StoredFile {
        StoredFile {
            id: 1,
            name: "f".to_owned(),
            owners: 2..=9,
            rows,
            begin,
            end,
            deletes: Vec::new(),
        }
    }

    #[test]
    fn erased_rows_are_deleted_in_every_snapshot_that_reaches_the_file() {
        let mut end = None;
        let found = periods(&file(5, 3, None), &[1, 2], Vec::new(), 0, &mut end);
        assert_eq!(found, [(3, None, vec![1, 2])]);
        let deletes = vec![(4, Some(6), vec![0]), (6, None, vec![0, 2])];
        let found = periods(&file(5, 3, None), &[1, 2], deletes.clone(), 0, &mut end);
        let expected = [
            (3, Some(4), vec![1, 2]),
            (4, Some(6), vec![0, 1, 2]),
            (6, None, vec![0, 1, 2]),
        ];
        assert_eq!((found.as_slice(), end), (expected.as_slice(), None));
        // Snapshot 3 has expired.
        let found = periods(&file(5, 3, None), &[1, 2], deletes, 4, &mut end);
        assert_eq!((found.as_slice(), end), (&expected[1..], None));
    }

    #[test]
    fn a_file_ends_where_nothing_is_left_of_it() {
        let mut end = None;
        let deletes = vec![(4, Some(6), vec![0]), (6, None, vec![0, 2])];
        let found = periods(&file(3, 3, None), &[1], deletes, 0, &mut end);
        let expected = [(3, Some(4), vec![1]), (4, Some(6), vec![0, 1])];
        assert_eq!((found.as_slice(), end), (expected.as_slice(), Some(6)));
        let mut end = None;
        let found = periods(&file(2, 3, None), &[1], vec![(4, None, vec![0])], 4, &mut end);
        assert_eq!((found.as_slice(), end), ([].as_slice(), Some(4)));
    }
}
