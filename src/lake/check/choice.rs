//! Chooses the rows of a table's files that belong to the lake: the newest version of each resource, unless a delete
//! file deletes it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::candidate::Candidate;

/// The files and rows that a new catalog takes.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The files with rows to take: the index in the list of files, and the positions of the rows that are not taken.
    pub(super) taken: Vec<(usize, BTreeSet<u64>)>,
    /// The indexes of files from before an erasure. They still hold the erased rows, so the caller removes them.
    pub(super) erased: Vec<usize>,
}

/// Chooses the rows. `deleted` has the positions in delete files, by the index of the data file.
pub(super) fn choose(files: &[Candidate], mut deleted: BTreeMap<usize, BTreeSet<u64>>) -> Choice {
    let is_erased = |at: usize| files.iter().any(|other| files[at].was_before(other));
    let (erased, mut rest): (Vec<usize>, Vec<usize>) = (0..files.len()).partition(|at| is_erased(*at));
    // Several files may have the same version of a resource, for example after a merge. Then the file with the most
    // rows keeps it and, if several files have the most rows, the latest of them. The other files are then not needed.
    let size = |at: &usize| (files[*at].rows.len(), *files[*at].written.last_updated.end());
    rest.sort_by_key(|at| (std::cmp::Reverse(size(at)), *at));
    let mut newest: FxHashMap<u128, (i64, i64, usize, u64)> = FxHashMap::default();
    for at in &rest {
        let deleted = deleted.entry(*at).or_default();
        for (position, row) in files[*at].rows.iter().enumerate() {
            let position = position as u64;
            if row.is_blank {
                deleted.insert(position);
            }
            if deleted.contains(&position) {
                continue;
            }
            let this = (row.version, row.last_updated, *at, position);
            let known = newest.entry(row.resource).or_insert(this);
            if (this.0, this.1) > (known.0, known.1) {
                *known = this;
            }
        }
    }
    let mut choice = Choice {
        erased,
        ..Choice::default()
    };
    rest.sort_unstable();
    for at in rest {
        let mut gone = deleted.remove(&at).unwrap_or_default();
        for (position, row) in files[at].rows.iter().enumerate() {
            let is_newest = newest
                .get(&row.resource)
                .is_some_and(|newest| (newest.2, newest.3) == (at, position as u64));
            if !is_newest {
                gone.insert(position as u64);
            }
        }
        // Take the file only if a row remains. Each other row is deleted, or another file has it in the same or a newer
        // version.
        if gone.len() < files[at].rows.len() {
            choice.taken.push((at, gone));
        }
    }
    choice
}
