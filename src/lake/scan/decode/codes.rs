//! Decides an [`ItemMatch`] on dictionary codes. It decodes no rows and builds no column, so it is several times as
//! fast as a predicate over columns.
//!
//! All leaves of a struct have the same slots: Parquet has one slot for each item, or one for an empty list. So this
//! file computes for each leaf which alternatives its slots allow. An item matches if all leaves allow the same
//! alternative in its slot.

use std::ops::{BitAnd, BitOr};
use std::sync::Arc;

use parquet::errors::ParquetError;

use super::super::cache::file::{OpenFile, ReadBytes};
use super::super::conditions::ranges::Ranges;
use super::chunk::{Chunk, Slots};
use crate::columns::conditions::ItemMatch;

/// Returns the rows of a row group that match. `None` if the codes cannot decide, for example because of an unknown
/// encoding.
pub(in crate::lake::scan) fn matching(
    condition: &ItemMatch,
    file: &Arc<OpenFile>,
    group: usize,
    read: &Arc<ReadBytes>,
) -> Result<Option<Ranges>, ParquetError> {
    match condition.any_of.len() {
        0..=8 => matching_by(condition, file, group, read, |allowed| allowed as u8),
        _ => matching_by(condition, file, group, read, |allowed| allowed),
    }
}

/// Returns the rows that match, as [`matching`] does. Each bit of a `W` stands for one alternative. `word` converts the
/// alternatives of a value to a `W`.
fn matching_by<W: Word>(
    condition: &ItemMatch,
    file: &Arc<OpenFile>,
    group: usize,
    read: &Arc<ReadBytes>,
    word: impl Fn(u64) -> W,
) -> Result<Option<Ranges>, ParquetError> {
    // Most row groups lack most of the wanted values, and their dictionaries show that. `possible` has the alternatives
    // that all dictionaries so far allow. If it becomes empty, no row matches, and the remaining leaves need not be
    // opened.
    let mut possible = word(u64::MAX);
    let mut chunks = Vec::new();
    for (at, path) in condition.leaves.iter().enumerate() {
        let word = &word;
        let allowed = move |value: Option<&[u8]>| word(condition.allowed(at, value));
        match file.leaf(path) {
            None => possible = possible & allowed(None),
            Some(leaf) => {
                let Some(chunk) = Chunk::open(file, group, leaf, read, allowed)? else {
                    return Ok(None);
                };
                if let Some(kinds) = chunk.kinds() {
                    possible = possible & kinds.fold(W::default(), |all, allowed| all | allowed);
                }
                chunks.push(chunk);
            }
        }
        if possible == W::default() {
            return Ok(Some(Ranges::default()));
        }
    }
    // Skip a leaf if each of its values allows all possible alternatives. At least one leaf must be read, to show which
    // slots have items.
    let tells = |chunk: &Chunk<W, _>| {
        !chunk
            .kinds()
            .is_some_and(|mut kinds| kinds.all(|allowed| possible & allowed == possible))
    };
    chunks.sort_by_key(|chunk| !tells(chunk));
    let telling = chunks.iter().filter(|chunk| tells(chunk)).count().max(1);
    let lists = chunks.first().map(Chunk::repetition);
    // A leaf below a list inside the item has more slots than the other leaves. Their slots cannot be compared then, so
    // codes cannot decide the condition.
    if chunks.iter().any(|chunk| Some(chunk.repetition()) != lists) {
        return Ok(None);
    }
    let mut together: Option<Slots<W>> = None;
    for chunk in chunks.into_iter().take(telling) {
        let Some(slots) = chunk.slots()? else {
            return Ok(None);
        };
        match &mut together {
            None => together = Some(slots),
            Some(first) if first.allowed.len() == slots.allowed.len() => {
                let pairs = first.allowed.iter_mut().zip(&slots.allowed);
                pairs.for_each(|(one, other)| *one = *one & *other);
            }
            Some(_) => return Ok(None),
        }
    }
    let mut found = Ranges::default();
    if let Some(slots) = together {
        slots.rows_where(|allowed| allowed & possible != W::default(), |rows| found.push(rows));
    }
    Ok(Some(found))
}

/// A word with one bit per alternative.
trait Word: Copy + Default + PartialEq + BitAnd<Output = Self> + BitOr<Output = Self> {}

impl Word for u8 {}
impl Word for u64 {}
