//! The result of an erasure in the lake.

use std::collections::BTreeMap;

use crate::fhir::TypeId;

/// The result of an erasure in the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// The number of erased resources of the newest snapshot, by type.
    pub resources: BTreeMap<TypeId, u64>,
    /// The number of erased rows of all snapshots, including earlier versions and deleted resources.
    pub rows: u64,
    /// The number of removed attachments, of all snapshots.
    pub attachments: u64,
    /// The number of files that were rewritten without the rows.
    pub files_rewritten: u64,
    /// The number of files that were removed without a replacement, because they had no other rows.
    pub files_removed: u64,
    /// Places where erased bytes may remain, as texts for messages. Examples are a file that could not be read or
    /// replaced, and the catalog's log while another process reads it. No scope shows these bytes. Each writer tries
    /// again to remove them.
    pub left: Vec<String>,
}
