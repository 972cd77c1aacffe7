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
    /// The number of files that were removed without a replacement, because no row of them was left in any snapshot.
    pub files_removed: u64,
    /// Places where erased bytes may remain, as texts for messages. Examples are a file that could not be read or
    /// replaced, and the catalog's log while another process reads it. No reader of the lake sees the erased rows
    /// there. Each later writer tries again to remove the bytes.
    pub left: Vec<String>,
}
