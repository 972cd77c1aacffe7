//! Versions: compares the buffered resources of one type with rows written earlier in the same import and with those of
//! the lake.
//!
//! Occurrences of an id form a chain in the order of the input. Only the last content is stored, and only if it differs
//! from the existing row. Each change in the chain counts as a version.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::references::known::KnownRow;
use super::block::{Block, Entry};

/// A resource in the buffer: block, entry.
pub(in crate::ingest) type BufferIndex = (u32, u32);

/// The occurrences of one id.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) struct Chain {
    /// The last occurrence.
    pub(in crate::ingest) last: BufferIndex,
    first_digest: [u8; 16],
    last_digest: [u8; 16],
    changes: i64,
    same: u64,
}

/// A row that already has the chain's id.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) struct Current {
    /// The index of the file: see [`Files`].
    pub(in crate::ingest) file: u32,
    pub(in crate::ingest) row: KnownRow,
}

/// Rows that already have a chain's id.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ingest) struct Present {
    /// The row that the lake already has.
    pub(in crate::ingest) base: Option<Current>,
    /// The row that this import wrote earlier.
    pub(in crate::ingest) pending: Option<Current>,
}

/// The decision about a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Outcome {
    /// Store the last occurrence as this version, and delete the existing row.
    Store(i64),
    /// Keep the existing row.
    Keep,
    /// Keep the lake's row, and delete the row that this import wrote.
    Restore,
}

/// Chains of the blocks of one type, by id, except the contents (id, digest) in `without`.
pub(in crate::ingest) fn chains(blocks: &[Block], without: &FxHashSet<(&str, [u8; 16])>) -> Vec<Chain> {
    let mut order: Vec<BufferIndex> = (0..)
        .zip(blocks)
        .flat_map(|(block, content)| (0..content.entries.len() as u32).map(move |entry| (block, entry)))
        .collect();
    let entry = |place: BufferIndex| &blocks[place.0 as usize].entries[place.1 as usize];
    if !without.is_empty() {
        order.retain(|place| !without.contains(&(blocks[place.0 as usize].id(entry(*place)), entry(*place).digest)));
    }
    // Nearly sorted already: only resources that waited are out of place.
    order.sort_by_key(|place| entry(*place).ordinal);
    let mut chains: Vec<Chain> = Vec::new();
    let mut by_id: FxHashMap<&str, u32> = FxHashMap::default();
    for place in order {
        let content: &Entry = entry(place);
        let known = *by_id
            .entry(blocks[place.0 as usize].id(content))
            .or_insert(chains.len() as u32);
        match chains.get_mut(known as usize) {
            Some(chain) => {
                let changed = chain.last_digest != content.digest;
                chain.changes += i64::from(changed);
                chain.same += u64::from(!changed);
                chain.last_digest = content.digest;
                // If the content is equal, the first occurrence is as good as the last.
                if changed {
                    chain.last = place;
                }
            }
            None => chains.push(Chain {
                last: place,
                first_digest: content.digest,
                last_digest: content.digest,
                changes: 0,
                same: 0,
            }),
        }
    }
    chains
}

impl Chain {
    /// Decides what to do. Also returns how many occurrences changed nothing.
    pub(in crate::ingest) fn decide(&self, present: &Present) -> (Outcome, u64) {
        let Some(current) = present.pending.or(present.base) else {
            return (Outcome::Store(1 + self.changes), self.same);
        };
        let unchanged = self.same + u64::from(self.first_digest == current.row.digest);
        if self.last_digest == current.row.digest {
            return (Outcome::Keep, unchanged);
        }
        if present.pending.is_some() && present.base.is_some_and(|base| base.row.digest == self.last_digest) {
            return (Outcome::Restore, unchanged);
        }
        let changes = self.changes + i64::from(self.first_digest != current.row.digest);
        (Outcome::Store(current.row.version + changes), unchanged)
    }
}
