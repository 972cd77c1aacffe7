//! What an erasure took out of the lake.

use std::collections::BTreeMap;

use crate::fhir::TypeId;

/// What an erasure took out of the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Resources that the newest snapshot had, by type.
    pub resources: BTreeMap<TypeId, u64>,
    /// Rows of all snapshots: earlier versions and deleted resources, too.
    pub rows: u64,
    /// Attachments of all snapshots, whose files were removed.
    pub attachments: u64,
    /// Files that were written again without them.
    pub files_rewritten: u64,
    /// Files that held nothing else.
    pub files_removed: u64,
    /// Places where erased bytes may remain although nobody can read them, one clause each: a file that could not be
    /// read or replaced, or the catalog's log during a read. Each writer tries again.
    pub left: Vec<String>,
}
