//! References in an authorization's records whose targets are missing. For the hash of each such reference, the store
//! has the number of consecutive syncs in which the target was missing. If this number is three, normalization marks
//! the reference as dangling.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::super::error::Error;
use super::super::store::Store;

/// The maximum number of hashes that are stored for an authorization. If there are more, the hashes with the highest
/// counts stay.
const MAX_KEPT: usize = 1_000_000;
/// The size in bytes of a stored hash with its count.
const BYTES: usize = 9;

/// The repository of references whose targets are missing.
#[derive(Clone, Copy, Debug)]
pub struct Dangling<'a> {
    pub(in crate::consent) store: &'a Store,
}

impl Dangling<'_> {
    /// Returns the hashes from an authorization's last sync, with their counts.
    pub fn of_authorization(&self, authorization: &str) -> Result<BTreeMap<u64, u32>, Error> {
        self.store.read(|connection| {
            let sql = "SELECT counts FROM dangling WHERE authorization = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let counts: Option<Vec<u8>> = statement.query_row([authorization], |row| row.get(0)).optional()?;
            Ok(read(&counts.unwrap_or_default()))
        })
    }
}

/// Stores the hashes and counts of the sync that has just ended, in place of those of the previous sync.
pub(in crate::consent) fn keep_dangling(
    connection: &Connection,
    authorization: &str,
    dangling: &BTreeMap<u64, u32>,
) -> Result<(), Error> {
    if dangling.is_empty() {
        return forget_dangling(connection, authorization);
    }
    let sql = "INSERT INTO dangling (authorization, counts) VALUES (?1, ?2)
               ON CONFLICT DO UPDATE SET counts = excluded.counts WHERE counts <> excluded.counts";
    let counts = written(dangling, MAX_KEPT);
    connection
        .prepare_cached(sql)?
        .execute(params![authorization, counts])?;
    Ok(())
}

/// Deletes the hashes of an authorization.
pub(in crate::consent) fn forget_dangling(connection: &Connection, authorization: &str) -> Result<(), Error> {
    let sql = "DELETE FROM dangling WHERE authorization = ?1";
    connection.prepare_cached(sql)?.execute([authorization])?;
    Ok(())
}

fn read(counts: &[u8]) -> BTreeMap<u64, u32> {
    let entries = counts.chunks_exact(BYTES).filter_map(|entry| {
        let (hash, count) = entry.split_first_chunk()?;
        Some((u64::from_le_bytes(*hash), u32::from(*count.first()?)))
    });
    entries.collect()
}

/// Encodes the hashes, each followed by its count, in the order of the hashes. Keeps at most `max_bytes` hashes: those
/// with the highest counts, because they will soonest reach the count that normalization requires.
fn written(dangling: &BTreeMap<u64, u32>, max_bytes: usize) -> Vec<u8> {
    let mut kept: Vec<(u64, u32)> = dangling.iter().map(|(hash, count)| (*hash, *count)).collect();
    if kept.len() > max_bytes {
        kept.sort_by_key(|(hash, count)| (std::cmp::Reverse(*count), *hash));
        kept.truncate(max_bytes);
        kept.sort_unstable();
    }
    let mut counts = Vec::with_capacity(kept.len() * BYTES);
    for (hash, count) in kept {
        counts.extend_from_slice(&hash.to_le_bytes());
        counts.push(u8::try_from(count).unwrap_or(u8::MAX));
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_met_most_often_is_kept() {
        let dangling = BTreeMap::from([(1, 1), (2, 3), (u64::MAX, 2), (4, 1)]);
        assert_eq!(read(&written(&dangling, 9)), dangling);
        assert_eq!(
            read(&written(&dangling, 3)),
            BTreeMap::from([(1, 1), (2, 3), (u64::MAX, 2)])
        );
        assert_eq!(read(&written(&dangling, 1)), BTreeMap::from([(2, 3)]));
    }
}
