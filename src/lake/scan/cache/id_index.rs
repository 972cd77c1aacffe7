//! Finds the rows of an id in a sorted table of 64-bit hashes. Each row group has such a table. It is built when the
//! bloom filter first says that the row group may have a wanted id. Without a bloom filter, the first lookup builds it.
//!
//! The key of the hash is random for each process, so nobody can choose ids that collide. Callers compare the id of a
//! row that is found with the id that they look for.

/// The average number of rows per bucket.
const BUCKET: usize = 4;

/// The rows of a row group by the hashes of their ids.
pub(in crate::lake::scan) struct IdIndex {
    /// The hashes, ascending.
    hashes: Box<[u64]>,
    /// The positions of the rows in the row group, in the order of `hashes`.
    rows: Box<[u32]>,
    /// For each bucket, the index of its first hash. A last entry has the number of hashes.
    buckets: Box<[u32]>,
}

impl IdIndex {
    /// Makes an index. Each entry is the hash of an id and the row of the id. The entries must ascend.
    pub(super) fn new(entries: &[(u64, u32)]) -> IdIndex {
        let count = (entries.len() / BUCKET).max(1);
        let mut buckets = vec![0; count + 1];
        for (hash, _) in entries {
            buckets[bucket(*hash, count) + 1] += 1;
        }
        for at in 1..buckets.len() {
            buckets[at] += buckets[at - 1];
        }
        IdIndex {
            hashes: entries.iter().map(|(hash, _)| *hash).collect(),
            rows: entries.iter().map(|(_, row)| *row).collect(),
            buckets: buckets.into(),
        }
    }

    /// Returns the rows whose id has this hash.
    pub(in crate::lake::scan) fn rows(&self, hash: u64) -> impl Iterator<Item = u32> + '_ {
        let at = bucket(hash, self.buckets.len() - 1);
        let range = self.buckets[at] as usize..self.buckets[at + 1] as usize;
        let hashes = &self.hashes[range.clone()];
        hashes
            .iter()
            .zip(&self.rows[range])
            .filter(move |(have, _)| **have == hash)
            .map(|(_, row)| *row)
    }

    /// Returns the size in bytes.
    pub(in crate::lake::scan) fn weight(&self) -> usize {
        self.hashes.len() * 12 + self.buckets.len() * 4
    }
}

/// Returns the bucket of a hash: the hash scaled to the number of buckets.
fn bucket(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn finds_what_was_put_in(hashes in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..5], 0..200), other in any::<u64>()) {
            let mut entries: Vec<(u64, u32)> = hashes.iter().enumerate().map(|(row, hash)| (*hash, row as u32)).collect();
            entries.sort_unstable();
            let index = IdIndex::new(&entries);
            for hash in hashes.iter().chain([&other, &0, &u64::MAX]) {
                let expected: Vec<u32> = entries.iter().filter(|entry| entry.0 == *hash).map(|entry| entry.1).collect();
                prop_assert_eq!(index.rows(*hash).collect::<Vec<_>>(), expected);
            }
        }
    }
}
