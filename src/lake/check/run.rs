//! Runs a check, from the catalog to the last file.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::attachments;
use super::binaries::binaries;
use super::file;
use super::report::{Depth, Finding, Problem, Report};
use super::stored::{self, StoredData, StoredDeletes};
use crate::lake::attachment::TABLE;
use crate::lake::catalog::{self, StoredAttachment};
use crate::lake::clock::{Clock, SystemClock};
use crate::lake::commit::lock::WriteLock;
use crate::lake::commit::mark::Mark;
use crate::lake::error::LakeError;
use crate::lake::seal::{KekSource, Keys};
use crate::lake::store::folder::Folder;
use crate::lake::store::open::ahead;
use crate::lake::store::survey::{files_below, holds_files, is_ours, survey};
use crate::parallel::{self, processors};

/// Checks the lake in a folder: the catalog, the rows of every file that it names, and the other files in the data
/// folder. Changes nothing.
///
/// Faults are in the report. Returns [`LakeError::Missing`] if there is no lake.
pub fn check(dir: impl AsRef<Path>) -> Result<Report, LakeError> {
    check_to(dir.as_ref(), Depth::Rows)
}

/// Checks the lake in a folder with this depth. See [`check`].
pub fn check_to(dir: &Path, depth: Depth) -> Result<Report, LakeError> {
    check_with(dir, depth, &KekSource::default())
}

/// Checks the lake in a folder with this depth and this source of a sealed lake's key-encryption key. See [`check`].
pub fn check_with(dir: &Path, depth: Depth, source: &KekSource) -> Result<Report, LakeError> {
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    folder.refuse_restoring()?;
    if !folder.has_catalog() && !holds_files(&folder)? {
        return Err(LakeError::Missing(folder.path().to_owned()));
    }
    let mut report = Report::default();
    files_below(&folder.orphans(), &mut |_, _| report.moved_aside += 1)?;
    let outcome = catalog::open_reader(&folder).and_then(|connection| {
        let folder = unlocked(&connection, folder.clone(), source)?;
        look(&connection, &folder, depth, &mut report)
    });
    match outcome {
        Ok(()) => {}
        Err(error @ (LakeError::Version { .. } | LakeError::Io { .. } | LakeError::Keys { .. })) => return Err(error),
        // The catalog cannot be read. Then nobody knows which files should exist, so report each file as unnamed.
        Err(error) => {
            let what = match error {
                LakeError::Mismatch { what, .. } => what,
                error => error.to_string(),
            };
            report.find(folder.catalog(), Problem::Catalog(what));
            let all = survey(&folder, Default::default())?;
            report.findings.retain(|finding| finding.path == folder.catalog());
            for path in all.unnamed {
                report.find(path, Problem::Unnamed);
            }
        }
    }
    Ok(report)
}

/// Gives the folder the keys that open its files, if the catalog says whether the lake is sealed.
fn unlocked(connection: &Connection, folder: Folder, source: &KekSource) -> Result<Folder, LakeError> {
    match catalog::kind(connection) {
        Ok(kind) => folder.unlock(kind, source),
        Err(_) => Ok(folder),
    }
}

fn look(connection: &Connection, folder: &Folder, depth: Depth, report: &mut Report) -> Result<(), LakeError> {
    for what in catalog_findings(connection, folder, report)? {
        report.find(folder.catalog(), Problem::Catalog(what));
    }
    if report.findings.is_empty() {
        for what in catalog::wrong_statistics(connection)? {
            report.find(folder.catalog(), Problem::Statistics(what));
        }
    }
    let data = folder.data();
    let mut findings = files(connection, folder, &|_| true, depth, report)?;
    if report.findings.is_empty() {
        findings.extend(binaries(connection, folder)?);
    }
    // A writer may have removed files meanwhile, so keep only faults of files that the catalog names now.
    let now = catalog::named(connection, &data)?;
    findings.retain(|(path, _)| now.contains_key(path));
    let lock = match WriteLock::take(folder) {
        Ok(lock) => Some(lock),
        Err(LakeError::Busy { .. }) => {
            report.being_written = true;
            None
        }
        // The lock cannot be taken, for example because the folder is read-only. Such a folder has no writer, so look
        // for unnamed files without the lock.
        Err(_) => None,
    };
    if !report.being_written {
        let is_leftover = |path: &PathBuf| report.is_as_marked && is_ours(path);
        let (left, strange): (Vec<_>, Vec<_>) = unnamed(connection, folder)?.into_iter().partition(is_leftover);
        report.leftovers += left.len() as u64;
        findings.extend(strange.into_iter().map(|path| (path, Problem::Unnamed)));
    }
    drop(lock);
    findings.sort_by(|one, other| one.0.cmp(&other.0));
    let findings = findings.into_iter().map(|(path, problem)| Finding { path, problem });
    report.findings.extend(findings);
    Ok(())
}

/// Compares files with their records in the catalog and returns the faults. `is_asked` selects the files by path.
pub(in crate::lake) fn inspect(
    connection: &Connection,
    folder: &Folder,
    is_asked: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Finding>, LakeError> {
    let found = files(connection, folder, is_asked, Depth::Checksums, &mut Report::default())?;
    Ok(found
        .into_iter()
        .map(|(path, problem)| Finding { path, problem })
        .collect())
}

/// A file with the catalog's record of it.
enum Stored {
    Data(StoredData),
    Deletes(StoredDeletes),
    Attachment(PathBuf, StoredAttachment),
}

impl Stored {
    fn path(&self) -> &Path {
        match self {
            Stored::Data(stored) => &stored.path,
            Stored::Deletes(stored) => &stored.path,
            Stored::Attachment(path, _) => path,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Stored::Data(stored) => stored.bytes,
            Stored::Deletes(stored) => stored.bytes,
            Stored::Attachment(_, stored) => stored.file_bytes,
        }
    }

    fn problem(&self, depth: Depth, keys: &Keys) -> Option<Problem> {
        match self {
            Stored::Data(stored) => file::data_file(stored, depth, keys),
            Stored::Deletes(stored) => file::delete_file(stored, keys),
            Stored::Attachment(path, stored) => attachments::attachment(path, stored, keys),
        }
    }
}

/// Checks the files that `is_asked` selects, on several threads. Adds their number and bytes to the report.
fn files(
    connection: &Connection,
    folder: &Folder,
    is_asked: &dyn Fn(&Path) -> bool,
    depth: Depth,
    report: &mut Report,
) -> Result<Vec<(PathBuf, Problem)>, LakeError> {
    let data = folder.data();
    let mut all: Vec<Stored> = Vec::new();
    all.extend(stored::data_files(connection, &data)?.into_iter().map(Stored::Data));
    all.extend(
        stored::delete_files(connection, &data)?
            .into_iter()
            .map(Stored::Deletes),
    );
    for one in catalog::all_attachments(connection)? {
        let path = folder.table(one.mode, TABLE).join(&one.name);
        all.push(Stored::Attachment(path, one));
    }
    all.retain(|stored| is_asked(stored.path()));
    report.files += all.len() as u64;
    report.bytes += all.iter().map(Stored::bytes).sum::<u64>();
    let found = parallel::map(&all, processors(), |stored| {
        let problem = stored.problem(depth, folder.keys())?;
        Some((stored.path().to_owned(), problem))
    });
    Ok(found.into_iter().flatten().collect())
}

/// Returns the files in the data folder that the catalog neither names nor has released.
fn unnamed(connection: &Connection, folder: &Folder) -> Result<Vec<PathBuf>, LakeError> {
    let scheduled = catalog::scheduled(connection, folder)?;
    let mut unnamed = survey(folder, catalog::named(connection, &folder.data())?)?.unnamed;
    unnamed.retain(|path| !scheduled.contains(path));
    Ok(unnamed)
}

/// Checks the catalog without its files. Returns a text for each fault.
fn catalog_findings(connection: &Connection, folder: &Folder, report: &mut Report) -> Result<Vec<String>, LakeError> {
    let mut found: Vec<String> = catalog::cut_off(connection, &folder.catalog())?.into_iter().collect();
    found.extend(catalog::broken_pages(connection, false)?);
    if !found.is_empty() {
        return Ok(found);
    }
    catalog::check_version(connection, folder)?;
    report.ahead = ahead(catalog::load(connection, folder, None)?.time, SystemClock.now());
    catalog::owner_key(connection)?;
    found.extend(catalog::contradictions(connection)?);
    if let Some(mark) = Mark::read(folder) {
        let contradiction = mark.contradiction(connection, catalog::digest(connection)?)?;
        report.is_as_marked = contradiction.is_none();
        found.extend(contradiction);
    }
    Ok(found)
}
