//! Removes orphans of interrupted writers, which no snapshot names, if they are not of the lake's new kind. Also finds
//! the unencrypted data files and catalogs that `tabularium check --adopt` has kept.

use std::path::{Path, PathBuf};

use crate::lake::attachment::is_sealed_file;
use crate::lake::catalog;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::error::LakeError;
use crate::lake::seal;
use crate::lake::store::disk::remove as remove_file;
use crate::lake::store::survey::{files_below, is_ours, survey};

/// Removes orphans that are not of the lake's kind. From a sealed lake it removes unencrypted ones. From an open lake
/// it removes sealed ones, because their keys are about to be destroyed. Returns a text for each orphan that could not
/// be removed, and a text if orphans cannot be listed. For a sealed lake it also returns a text for each unencrypted
/// file that `tabularium check --adopt` has kept. The operator must remove such a file.
pub(super) fn remove(writer: &LakeWriter) -> Result<Vec<String>, LakeError> {
    let folder = writer.lake().folder();
    let named = catalog::named(&writer.connection, &folder.data())?;
    let found = survey(folder, named)?;
    let mut orphans = Vec::new();
    if found.is_whole() {
        orphans = found.unnamed;
        orphans.retain(|path| is_ours(path));
    }
    let mut left = Vec::new();
    if let Err(error) = files_below(&folder.orphans(), &mut |path, _| orphans.push(path)) {
        left.push(error.to_string());
    }
    let are_sealed = writer.lake().kind().seals();
    for path in orphans.iter().filter(|path| is_sealed(path) != are_sealed) {
        match remove_file(path) {
            Ok(()) => tracing::info!(file = %path.display(), "removed a file that no snapshot has"),
            Err(error) => left.push(error.to_string()),
        }
    }
    if !are_sealed {
        return Ok(left);
    }
    let mut clear: Vec<PathBuf> = Vec::new();
    for path in folder.kept() {
        if path.is_dir() {
            files_below(&path, &mut |path, _| clear.extend((!is_sealed(&path)).then_some(path)))?;
        } else if !catalog::is_kept_sealed(&path) {
            clear.push(path);
        }
    }
    left.extend(clear.into_iter().map(|path| {
        let path = path.display();
        format!("{path}, which `tabularium check --adopt` has kept: remove it when it is not needed any more")
    }));
    Ok(left)
}

fn is_sealed(path: &Path) -> bool {
    seal::is_sealed(path) || is_sealed_file(path)
}
