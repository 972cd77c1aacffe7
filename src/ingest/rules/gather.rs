//! Sorts the input by ranges of owners while it is read.
//!
//! Rules need all records of a person together, but these may be anywhere in the input. So each record goes into a bin
//! for the range of its owner. Records without a person have ranges of their own. If rules look up the type of a record
//! without a person, the record is also stored in [`Shared`].

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::asked::is_asked_type;
use super::shared::Shared;
use super::stowed;
use crate::ingest::error::IngestError;
use crate::ingest::references::condition::Keys;
use crate::ingest::rows::block::Block;
use crate::ingest::rows::spill::{Bin, Spill};
use crate::ingest::rows::unfit::Unfit;
use crate::lake::owners::owner::APPLICATION_ONLY;

/// The number of ranges for records of people. The first bits of the owner decide the range, so that rows of
/// neighbouring owners get into the same files.
const PEOPLE: usize = 128;
/// The number of ranges for records without a person. A hash of type and id decides the range.
const NOBODY: usize = 8;
/// The number of all ranges. The ranges for records without a person come first.
pub(super) const RANGES: usize = NOBODY + PEOPLE;
/// The number of an owner's low bits, which do not affect its range. The top bit of an owner is always zero.
const OWNER_BITS: u32 = 63 - PEOPLE.ilog2();
/// A thread collects this number of bytes for a bin before it adds them to the bin.
const CHUNK: usize = 32 << 10;

/// The number of bins for identities. The hash in an identity decides its bin.
const IDENTITIES: usize = 32;
/// The number of bytes of an identity: a hash of type and id, the ordinal in the input, and the owner.
const IDENTITY: usize = 16 + 8 + 8;
/// The maximum number of bytes of identities in memory.
const IDENTITIES_IN_MEMORY: usize = 16 << 20;

/// The input that was read so far, in bins.
#[derive(Debug)]
pub(in crate::ingest) struct Gathered {
    keys: Keys,
    /// Whether all records have the same owner, as in a sync. Then no id can have several owners, so no identities are
    /// collected.
    is_one_owner: bool,
    records: Spill,
    identities: Spill,
    shared: Mutex<Shared>,
    files: Mutex<Files>,
    /// Records that do not fit into a table. They are gathered like all records, so that the attempt to write them
    /// refuses them again. But the rules do not see them.
    unfit: Unfit,
}

/// The input files, by number.
#[derive(Debug, Default)]
struct Files {
    numbers: HashMap<Arc<Path>, u32>,
    paths: Vec<Arc<Path>>,
}

/// The buffers in which one thread collects records for the bins.
#[derive(Debug)]
pub(in crate::ingest) struct Gatherer<'g> {
    gathered: &'g Gathered,
    ranges: Vec<Vec<u8>>,
    identities: Vec<Vec<u8>>,
    /// The file of the previous block, with its number.
    file: Option<(Arc<Path>, u32)>,
}

/// Ids that occur in the input under several owners, as hashes of type and id, with the ordinal of their last
/// occurrence. Only that occurrence is stored.
#[derive(Debug, Default)]
pub(super) struct Moved(FxHashMap<u128, u64>);

impl Gathered {
    /// Creates empty bins. `limit` bytes of records stay in memory, and the rest goes to a temporary file in `folder`.
    pub(in crate::ingest) fn new(
        folder: PathBuf,
        limit: usize,
        keys: Keys,
        is_one_owner: bool,
        unfit: Unfit,
    ) -> Gathered {
        Gathered {
            keys,
            is_one_owner,
            records: Spill::new(&folder, RANGES, limit),
            identities: Spill::new(&folder, IDENTITIES, IDENTITIES_IN_MEMORY),
            shared: Mutex::new(Shared::new(folder, keys)),
            files: Mutex::default(),
            unfit,
        }
    }

    /// Creates the buffers of one thread.
    pub(in crate::ingest) fn gatherer(&self) -> Gatherer<'_> {
        Gatherer {
            gathered: self,
            ranges: vec![Vec::new(); RANGES],
            identities: vec![Vec::new(); IDENTITIES],
            file: None,
        }
    }

    /// Removes and returns the records of a range.
    pub(super) fn take(&self, range: usize) -> Bin {
        self.records.take(range)
    }

    /// Removes and returns the records without a person that rules look up.
    pub(super) fn take_shared(&self) -> Shared {
        std::mem::replace(&mut self.shared(), Shared::new(PathBuf::new(), self.keys))
    }

    /// Returns the path of the input file with this number.
    pub(super) fn file(&self, number: u32) -> Arc<Path> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let path = files.paths.get(number as usize);
        path.cloned().unwrap_or_else(|| Path::new("").into())
    }

    /// Whether an earlier pass over the input found that a record fits into no table.
    pub(super) fn is_unfit(&self, record: &stowed::Stowed<'_>) -> bool {
        !self.unfit.is_empty() && self.unfit.holds(&self.file(record.file), record.origin)
    }

    /// Finds the ids that occurred under several owners. Empties the bins of identities.
    pub(super) fn moved(&self) -> Result<Moved, IngestError> {
        let mut moved = FxHashMap::default();
        let mut met: FxHashMap<u128, (u64, i64)> = FxHashMap::default();
        for bin in 0..IDENTITIES {
            met.clear();
            self.identities.take(bin).parts(|_, bytes| {
                for identity in bytes.as_chunks::<IDENTITY>().0 {
                    let (id, ordinal, owner) = of_bytes(identity);
                    let known = met.entry(id).or_insert((ordinal, owner));
                    if known.1 != owner {
                        moved.insert(id, 0);
                    }
                    if ordinal >= known.0 {
                        *known = (ordinal, owner);
                    }
                }
                Ok::<_, IngestError>(())
            })?;
            for (id, last) in &mut moved {
                if let Some((ordinal, _)) = met.get(id) {
                    *last = *ordinal;
                }
            }
        }
        Ok(Moved(moved))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number_of(&self, file: &Arc<Path>) -> u32 {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = files.numbers.get(file) {
            return *number;
        }
        let number = files.paths.len() as u32;
        files.paths.push(file.clone());
        files.numbers.insert(file.clone(), number);
        number
    }
}

impl Moved {
    /// Whether a record's id occurs under several owners, and the record is not its last occurrence.
    pub(super) fn is_replaced(&self, keys: Keys, record: &stowed::Stowed<'_>) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let last = self.0.get(&keys.identity(record.resource_type, record.id));
        last.is_some_and(|last| record.ordinal < *last)
    }
}

impl Gatherer<'_> {
    /// Adds the records of a block.
    pub(in crate::ingest) fn take(&mut self, block: &Block) -> Result<(), IngestError> {
        let file = match &self.file {
            Some((file, number)) if *file == block.file => *number,
            _ => {
                let number = self.gathered.number_of(&block.file);
                self.file = Some((block.file.clone(), number));
                number
            }
        };
        let gathered = self.gathered;
        for entry in &block.entries {
            let identity = if gathered.is_one_owner {
                0
            } else {
                gathered.keys.identity(block.type_id, block.id(entry))
            };
            let range = range_of(entry.owner, identity);
            let records = &mut self.ranges[range];
            let start = records.len();
            stowed::write(block, entry, file, records);
            let is_unfit = gathered.unfit.holds(&block.file, entry.origin);
            if entry.owner <= APPLICATION_ONLY && is_asked_type(block.type_id) && !is_unfit {
                gathered.shared().note(identity, entry.ordinal, &records[start..])?;
            }
            if records.len() >= CHUNK {
                gathered.records.add(range, records)?;
                records.clear();
            }
            if gathered.is_one_owner || is_unfit {
                continue;
            }
            let bin = identity as usize % IDENTITIES;
            let identities = &mut self.identities[bin];
            identities.extend_from_slice(&to_bytes(identity, entry.ordinal, entry.owner));
            if identities.len() >= CHUNK {
                gathered.identities.add(bin, identities)?;
                identities.clear();
            }
        }
        Ok(())
    }

    /// Adds the remaining records and identities, which do not fill a chunk.
    pub(in crate::ingest) fn finish(self) -> Result<(), IngestError> {
        for (range, records) in self.ranges.iter().enumerate() {
            self.gathered.records.add(range, records)?;
        }
        for (bin, identities) in self.identities.iter().enumerate() {
            self.gathered.identities.add(bin, identities)?;
        }
        Ok(())
    }
}

fn range_of(owner: i64, identity: u128) -> usize {
    if owner <= APPLICATION_ONLY {
        (identity >> 64) as usize % NOBODY
    } else {
        NOBODY + (owner >> OWNER_BITS) as usize % PEOPLE
    }
}

/// Returns the range of a person's records.
pub(super) fn range_of_owner(owner: i64) -> usize {
    range_of(owner, 0)
}

fn to_bytes(identity: u128, ordinal: u64, owner: i64) -> [u8; IDENTITY] {
    let mut bytes = [0; IDENTITY];
    bytes[..16].copy_from_slice(&identity.to_le_bytes());
    bytes[16..24].copy_from_slice(&ordinal.to_le_bytes());
    bytes[24..].copy_from_slice(&owner.to_le_bytes());
    bytes
}

fn of_bytes(bytes: &[u8; IDENTITY]) -> (u128, u64, i64) {
    let number = |from: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[from..from + 8]);
        u64::from_le_bytes(eight)
    };
    let identity = u128::from(number(0)) | u128::from(number(8)) << 64;
    (identity, number(16), number(24) as i64)
}

#[cfg(test)]
mod tests {
    use super::super::placed::{Placed, Records, read_index};
    use super::*;
    use crate::fhir::facts;
    use crate::ingest::rows::block::{Content, Origin, SharedRefs, Splice};
    use crate::lake::owners::owner::SHARED;

    const LIMIT: usize = 64 << 10;

    /// Returns a block with one record for each owner.
    fn block(owners: &[i64], id: &str, ordinal: u64) -> Block {
        let type_id = facts().lookup("Observation").unwrap();
        let mut block = Block::new(type_id, Path::new("a.ndjson").into(), 0);
        for (owner, ordinal) in owners.iter().zip(ordinal..) {
            block.push(&Content {
                ordinal,
                owner: *owner,
                digest: [0; 16],
                origin: Origin::default(),
                splice: Splice { at: 1, in_meta: false },
                id: &format!("{id}-{owner}"),
                source_id: id,
                patient: None,
                shared_refs: SharedRefs::NONE,
                text: &"x".repeat(900),
                identifiers: &[],
            });
        }
        block
    }

    #[test]
    fn memory_is_bounded_and_each_record_is_in_the_range_of_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let gathered = Gathered::new(folder.path().to_owned(), LIMIT, Keys::new(), false, Unfit::default());
        let owners: Vec<i64> = (1..=40).map(|at| i64::MAX / 41 * at).chain([SHARED]).collect();
        std::thread::scope(|scope| {
            for thread in 0..2_u64 {
                let (gathered, owners) = (&gathered, &owners);
                scope.spawn(move || {
                    let mut gatherer = gathered.gatherer();
                    for round in 0..40_u64 {
                        let ordinal = round * 1_000 + thread * 500;
                        gatherer.take(&block(owners, &ordinal.to_string(), ordinal)).unwrap();
                    }
                    gatherer.finish().unwrap();
                });
            }
        });
        assert!(gathered.records.in_memory() <= LIMIT);
        let (mut index, mut fetched, mut found) = (Vec::new(), Vec::new(), 0);
        for range in 0..RANGES {
            let bin = gathered.take(range);
            read_index(&bin, &mut index).unwrap();
            let mut records = Records::Stored(&bin, &mut fetched);
            for of_owner in index.chunk_by(|one: &Placed, other| one.owner == other.owner) {
                let owner = of_owner[0].owner;
                assert!(owner == SHARED || range_of_owner(owner) == range);
                let ordinals: Vec<u64> = of_owner
                    .iter()
                    .map(|placed| records.get(placed).unwrap().ordinal)
                    .collect();
                assert!(ordinals.is_sorted());
                assert!(
                    owner == SHARED || ordinals.len() == 80,
                    "all of an owner's records are in one range"
                );
                found += ordinals.len();
            }
        }
        assert_eq!(found, 80 * owners.len());
        assert!(gathered.moved().unwrap().0.is_empty());
    }

    #[test]
    fn an_id_under_several_owners_is_the_last_ones() {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::new();
        let gathered = Gathered::new(folder.path().to_owned(), LIMIT, keys, false, Unfit::default());
        let mut gatherer = gathered.gatherer();
        let type_id = facts().lookup("Observation").unwrap();
        let record = |id: &str, owner: i64, ordinal: u64| {
            let mut block = Block::new(type_id, Path::new("").into(), 0);
            block.push(&Content {
                ordinal,
                owner,
                digest: [0; 16],
                origin: Origin::default(),
                splice: Splice { at: 1, in_meta: false },
                id,
                source_id: id,
                patient: None,
                shared_refs: SharedRefs::NONE,
                text: "{}",
                identifiers: &[],
            });
            block
        };
        // The pieces of the input may be finished in any order. So here an id's occurrences do not come in the order of
        // their ordinals.
        for (id, owner, ordinal) in [
            ("a", 7, 9),
            ("a", 8, 3),
            ("b", 7, 1),
            ("b", 7, 2),
            ("c", 8, 4),
            ("c", SHARED, 8),
        ] {
            gatherer.take(&record(id, owner, ordinal)).unwrap();
        }
        gatherer.finish().unwrap();
        let moved = gathered.moved().unwrap().0;
        let expected = [("a", 9), ("c", 8)].map(|(id, last)| (keys.identity(type_id, id), last));
        assert_eq!(moved, expected.into_iter().collect());
    }
}
