//! Counts the attachment files that still belong to a person.

use super::super::evidence::Searched;
use crate::lake::attachment::{TABLE, is_attachment, name_begin, read_trailer};
use crate::lake::error::LakeError;
use crate::lake::owners::owner::OwnerKey;
use crate::lake::owners::scope::Scope;
use crate::lake::store::folder::Folder;
use crate::lake::store::survey::files_below;

/// Returns for each scope the number of attachment files in its mode, and how many of them belong to the scope's
/// person. If a file's name begins like those of the person's files and its trailer cannot be read, the file counts as
/// one of the person's.
pub(in crate::lake::erase) fn search_attachments(
    folder: &Folder,
    key: OwnerKey,
    scopes: &[Scope],
) -> Result<Vec<Searched>, LakeError> {
    let mut searched = vec![Searched::default(); scopes.len()];
    let mut modes: Vec<_> = scopes.iter().map(|scope| scope.mode).collect();
    modes.sort_unstable();
    modes.dedup();
    for mode in modes {
        let mut paths = Vec::new();
        files_below(&folder.table(mode, TABLE), &mut |path, _| {
            paths.extend(Some(path).filter(|path| is_attachment(path)));
        })?;
        for (scope, searched) in scopes.iter().zip(&mut searched).filter(|(scope, _)| scope.mode == mode) {
            searched.values += paths.len() as u64;
            let owners = scope.patient.iter().flat_map(|patient| &patient.owners);
            let begins: Vec<String> = owners
                .map(|owner| name_begin(key, mode, &scope.application, *owner))
                .collect();
            let may_be = |path: &&std::path::PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                begins.iter().any(|begin| name.starts_with(begin))
            };
            let own = paths
                .iter()
                .filter(may_be)
                .filter(|path| match read_trailer(path, folder.keys()) {
                    Ok(trailer) => trailer.is_of(scope),
                    Err(_) => path.exists(),
                });
            searched.found += own.count() as u64;
        }
    }
    Ok(searched)
}
