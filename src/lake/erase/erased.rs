//! The result of an erasure in the lake.

use std::collections::BTreeMap;

use crate::fhir::TypeId;

/// The result of an erasure in the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// Resources that the newest snapshot had, by type.
    pub resources: BTreeMap<TypeId, u64>,
    /// Erased rows of all snapshots, including earlier versions and deleted resources.
    pub rows: u64,
    /// Attachments of all snapshots whose files were removed.
    pub attachments: u64,
    /// Files that were rewritten without the rows.
    pub files_rewritten: u64,
    /// Files that had only rows to erase.
    pub files_removed: u64,
    /// Places where erased bytes may remain, as clauses: a file that could not be read or replaced, or the catalog's
    /// log during a read. No reader can get these bytes. Each writer tries again to remove them.
    pub left: Vec<String>,
}
