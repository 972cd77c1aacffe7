//! Finds the rows of a file that an erasure removes: the own rows of patient scopes, including deleted rows. They are
//! found by the same system columns that decide what a read shows.

use std::path::Path;
use std::sync::Arc;

use super::super::cache::file::OpenFile;
use super::super::cache::handles::Handles;
use super::super::conditions::owner_set::OwnerSet;
use super::super::conditions::pruning::may_hold_owners;
use super::super::conditions::ranges::Ranges;
use super::super::decode::columns::{read_root, texts};
use super::super::error::ScanError;
use crate::lake::owners::scope::Scope;
use crate::lake::seal::Keys;

/// The rows of a file that belong to some scopes, as ascending positions in the file.
#[derive(Debug, Default)]
pub(in crate::lake) struct OwnRows {
    /// For each scope, the positions of its rows.
    pub(in crate::lake) of: Vec<Vec<u64>>,
    /// The positions of the rows of all scopes together.
    pub(in crate::lake) all: Vec<u64>,
    /// For each scope, the ids of its rows, except those of `blank`.
    pub(in crate::lake) ids: Vec<Vec<String>>,
    /// The rows of `all` that are placeholders for rows which an earlier erasure removed. A placeholder has the system
    /// columns of its neighbour, and an id that is empty or ends in `!`.
    pub(in crate::lake) blank: Vec<u64>,
}

/// Returns the rows of a file that belong to these scopes, including deleted rows. Caches nothing.
pub(in crate::lake) fn own_rows(file: u64, path: &Path, scopes: &[&Scope], keys: &Keys) -> Result<OwnRows, ScanError> {
    let file = Arc::new(OpenFile::open(file, path, &Arc::new(Handles::new(1, keys.clone())))?);
    let owners = |scope: &&Scope| OwnerSet::of(scope.patient.as_ref().map_or(&[], |patient| &patient.owners));
    let owners: Vec<OwnerSet> = scopes.iter().map(owners).collect();
    let mut rows = OwnRows {
        of: vec![Vec::new(); scopes.len()],
        ids: vec![Vec::new(); scopes.len()],
        ..OwnRows::default()
    };
    for (at, group) in file.groups().iter().enumerate() {
        let (mut all, mut owned) = (Ranges::default(), Vec::new());
        for ((scope, owners), found) in scopes.iter().zip(&owners).zip(&mut rows.of) {
            if may_hold_owners(&file, at, owners) {
                let own = file.directory(at)?.own(scope, Some(owners));
                found.extend(own.rows().map(|row| u64::from(group.first + row)));
                all = all.union(&own);
                owned.push(own);
            } else {
                owned.push(Ranges::default());
            }
        }
        if all.is_empty() {
            continue;
        }
        let ids = read_root(&file, at, "id", &all)?;
        let id = texts(&file, &ids, "id")?;
        let blank = all.rows().enumerate().filter(|(at, _)| id(*at).is_none_or(is_blank));
        let places: Vec<u32> = all.rows().collect();
        for (own, ids) in owned.iter().zip(&mut rows.ids) {
            let of_row = |row: u32| id(places.binary_search(&row).ok()?).filter(|id| !is_blank(id));
            ids.extend(own.rows().filter_map(of_row).map(str::to_owned));
        }
        rows.blank.extend(blank.map(|(_, row)| u64::from(group.first + row)));
        rows.all.extend(all.rows().map(|row| u64::from(group.first + row)));
    }
    Ok(rows)
}

/// Whether this is the id of a placeholder for an erased row. No resource can have such an id.
fn is_blank(id: &str) -> bool {
    id.is_empty() || id.ends_with('!')
}
