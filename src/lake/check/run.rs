//! A check from the catalog to the last file.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::attachments;
use super::file;
use super::report::{Finding, Problem, Report};
use super::stored;
use crate::lake::attachment::TABLE;
use crate::lake::catalog;
use crate::lake::error::LakeError;
use crate::lake::folder::Folder;
use crate::lake::lock::WriteLock;
use crate::lake::mark::Mark;
use crate::lake::survey::{files_below, holds_files, survey};

/// Checks the lake in a folder: the catalog, every file that it names, and what else lies in the data folder. Changes nothing.
///
/// What is wrong with the lake is in the report; [`LakeError::Missing`] where there is none.
pub fn check(dir: impl AsRef<Path>) -> Result<Report, LakeError> {
    let dir = dir.as_ref();
    let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
    if !folder.has_catalog() && !holds_files(&folder)? {
        return Err(LakeError::Missing(folder.path().to_owned()));
    }
    let mut report = Report::default();
    files_below(&folder.orphans(), &mut |_, _| report.moved_aside += 1)?;
    let outcome = catalog::open_reader(&folder).and_then(|connection| look(&connection, &folder, &mut report));
    match outcome {
        Ok(()) => {}
        Err(error @ (LakeError::Version { .. } | LakeError::Io { .. })) => return Err(error),
        // Without a catalog nobody can say what the files should be.
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

fn look(connection: &Connection, folder: &Folder, report: &mut Report) -> Result<(), LakeError> {
    for what in catalog_findings(connection, folder, report)? {
        report.find(folder.catalog(), Problem::Catalog(what));
    }
    let data = folder.data();
    let mut findings = files(connection, folder, &|_| true, report)?;
    // A writer may have given files up meanwhile: what counts is what the catalog names now.
    let now = catalog::named(connection, &data)?;
    findings.retain(|(path, _)| now.contains_key(path));
    let lock = match WriteLock::take(folder) {
        Ok(lock) => Some(lock),
        Err(LakeError::Busy { .. }) => {
            report.being_written = true;
            None
        }
        // On a folder that cannot be written to nobody writes.
        Err(_) => None,
    };
    if !report.being_written {
        findings.extend(
            unnamed(connection, folder)?
                .into_iter()
                .map(|path| (path, Problem::Unnamed)),
        );
    }
    drop(lock);
    findings.sort_by(|one, other| one.0.cmp(&other.0));
    let findings = findings.into_iter().map(|(path, problem)| Finding { path, problem });
    report.findings.extend(findings);
    Ok(())
}

/// Holds some of the files that the catalog names against what it records of them.
pub(in crate::lake) fn inspect(
    connection: &Connection,
    folder: &Folder,
    is_asked: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Finding>, LakeError> {
    let found = files(connection, folder, is_asked, &mut Report::default())?;
    Ok(found
        .into_iter()
        .map(|(path, problem)| Finding { path, problem })
        .collect())
}

/// The same; counts the files.
fn files(
    connection: &Connection,
    folder: &Folder,
    is_asked: &dyn Fn(&Path) -> bool,
    report: &mut Report,
) -> Result<Vec<(PathBuf, Problem)>, LakeError> {
    let data = folder.data();
    let mut findings = Vec::new();
    let mut looked_at = |path: PathBuf, bytes: u64, look: &dyn Fn(&Path) -> Option<Problem>| {
        if is_asked(&path) {
            report.files += 1;
            report.bytes += bytes;
            findings.extend(look(&path).map(|problem| (path, problem)));
        }
    };
    for stored in stored::data_files(connection, &data)? {
        looked_at(stored.path.clone(), stored.bytes, &|_| file::data_file(&stored));
    }
    for stored in stored::delete_files(connection, &data)? {
        looked_at(stored.path.clone(), stored.bytes, &|_| file::delete_file(&stored));
    }
    for stored in catalog::all_attachments(connection)? {
        let path = folder.table(stored.mode, TABLE).join(&stored.name);
        looked_at(path, stored.file_bytes, &|path| attachments::attachment(path, &stored));
    }
    Ok(findings)
}

/// Files that the catalog neither names nor has given up.
fn unnamed(connection: &Connection, folder: &Folder) -> Result<Vec<PathBuf>, LakeError> {
    let scheduled = catalog::scheduled(connection, folder)?;
    let mut unnamed = survey(folder, catalog::named(connection, &folder.data())?)?.unnamed;
    unnamed.retain(|path| !scheduled.contains(path));
    Ok(unnamed)
}

/// What is wrong with the catalog by itself, a clause each.
fn catalog_findings(connection: &Connection, folder: &Folder, report: &mut Report) -> Result<Vec<String>, LakeError> {
    let mut found: Vec<String> = catalog::cut_off(&folder.catalog())?.into_iter().collect();
    found.extend(catalog::broken_pages(connection, false)?);
    if !found.is_empty() {
        return Ok(found);
    }
    catalog::check_version(connection, folder)?;
    catalog::load(connection, folder, None)?;
    catalog::owner_key(connection)?;
    found.extend(catalog::contradictions(connection)?);
    if let Some(mark) = Mark::read(folder) {
        let contradiction = mark.contradiction(connection, catalog::digest(connection)?)?;
        report.is_as_marked = contradiction.is_none();
        found.extend(contradiction);
    }
    Ok(found)
}
