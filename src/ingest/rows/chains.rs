//! Decides versions. Compares the buffered resources of one type with the rows that the import has written and with the
//! lake's rows.
//!
//! The occurrences of an id form a chain, in the order of the input. Only the last content is stored, and only if it
//! differs from the existing row. Each change of the content in the chain counts as a version.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::references::known::KnownRow;
use super::block::{Block, Entry};

/// The position of a resource in the buffer: the index of its block, and of its entry in the block.
pub(in crate::ingest) type BufferIndex = (u32, u32);

/// The occurrences of one id.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) struct Chain {
    /// The occurrence to store: the one at which the content changed last.
    pub(in crate::ingest) last: BufferIndex,
    first_digest: [u8; 16],
    last_digest: [u8; 16],
    changes: i64,
    same: u64,
}

/// An existing row with the chain's id.
#[derive(Clone, Copy, Debug)]
pub(in crate::ingest) struct Current {
    /// The index of the file among the files of the table, or among those that this import has written.
    pub(in crate::ingest) file: u32,
    pub(in crate::ingest) row: KnownRow,
}

/// The existing rows with a chain's id.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::ingest) struct Present {
    /// The row in the lake.
    pub(in crate::ingest) base: Option<Current>,
    /// The row that this import has written.
    pub(in crate::ingest) pending: Option<Current>,
}

/// What happens to a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ingest) enum Outcome {
    /// The chain's last content is stored as this version. If there is an existing row with the chain's id, it is
    /// deleted.
    Store(i64),
    /// The existing row has the chain's last content. It stays, and nothing is stored.
    Keep,
    /// The lake's row stays, because it has the chain's last content. The row that this import has written is deleted.
    Restore,
}

/// Returns one chain for each id in the blocks of one type. Leaves out the occurrences whose id and digest are a pair
/// in `without`.
pub(in crate::ingest) fn chains(blocks: &[Block], without: &FxHashSet<(&str, [u8; 16])>) -> Vec<Chain> {
    let mut order: Vec<BufferIndex> = (0..)
        .zip(blocks)
        .flat_map(|(block, content)| (0..content.entries.len() as u32).map(move |entry| (block, entry)))
        .collect();
    let entry = |place: BufferIndex| &blocks[place.0 as usize].entries[place.1 as usize];
    if !without.is_empty() {
        order.retain(|place| !without.contains(&(blocks[place.0 as usize].id(entry(*place)), entry(*place).digest)));
    }
    // The order is nearly sorted already: only resources that waited are out of place.
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
                // If the content did not change, the chain keeps the earlier occurrence.
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
    /// Decides what happens to the chain. Also returns the number of occurrences that did not change the content.
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
