//! Which rows of a file a patient's scope has as its own, deleted ones included: those that an erasure rewrites the file without.
//! It goes by the same directory as every reading does.

use std::path::Path;
use std::sync::Arc;

use super::error::ScanError;
use super::file::OpenFile;
use super::handles::Handles;
use super::owner_set::OwnerSet;
use super::pruning::may_hold_owners;
use crate::lake::scope::Scope;

/// Their positions in the file, ascending. Nothing is kept in memory.
pub(in crate::lake) fn own_rows(file: u64, path: &Path, scope: &Scope) -> Result<Vec<u64>, ScanError> {
    let file = Arc::new(OpenFile::open(file, path, &Arc::new(Handles::new(1)))?);
    let owners = OwnerSet::of(scope.patient.as_ref().map_or(&[], |patient| &patient.owners));
    let mut rows = Vec::new();
    for (group, place) in file.groups().iter().enumerate() {
        if may_hold_owners(&file, group, &owners) {
            let own = file.directory(group)?.own(scope, Some(&owners));
            rows.extend(own.rows().map(|row| u64::from(place.first + row)));
        }
    }
    Ok(rows)
}
