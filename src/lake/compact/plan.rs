//! Decides which files of a table to merge next. The decision depends only on the files' sizes, their owner ranges,
//! and their numbers of rows and of deleted rows.
//!
//! Files form *runs*. Within a run the owner ranges are disjoint, so an owner has rows in at most one file of each run.
//! The minimum number of runs equals the maximum number of files that any owner is in. A merge lowers this number only
//! if it merges whole runs. The smallest runs are merged first. So the number of times that a stored byte is rewritten
//! grows only with the logarithm of the table's size.

use std::ops::RangeInclusive;

/// A thrifty compaction merges runs if an owner is in more than `MAX_RUNS` files of a table. The merge takes so many
/// runs that at most `LEFT_RUNS` are left, if `FAN_IN` allows this.
const MAX_RUNS: usize = 8;
const LEFT_RUNS: usize = 4;
/// A thrifty compaction waits until there are this many small files, so that it does not rewrite a growing file for
/// each new small file.
const SMALL_FILES: usize = 16;
/// A file is small if it has fewer bytes than the target size divided by this number.
const SMALL: u64 = 2;
/// A small file is always worth merging if it has at most as many bytes as the target size divided by this number. A
/// larger small file is merged only if it is at most twice as large as all smaller files together.
const TINY: u64 = 32;
/// The maximum number of runs that one merge reads at the same time. It bounds the memory of the merge.
pub(super) const FAN_IN: usize = 32;

/// How far a compaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Keeps a lake fast while it is being written: few small files, and no owner in more than 8 files of a table.
    Thrifty,
    /// Merges until the owner ranges of all files of a table are disjoint and no two adjacent files are small.
    Thorough,
}

/// The facts about a file that planning uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) id: u64,
    pub(super) owners: RangeInclusive<i64>,
    pub(super) bytes: u64,
    pub(super) rows: u64,
    pub(super) deleted: u64,
}

impl Candidate {
    fn small(&self, target: u64) -> bool {
        self.bytes < target / SMALL
    }

    /// Whether at least a tenth of the rows are deleted, so that the file is worth rewriting even if no other file is
    /// merged with it.
    fn worn(&self) -> bool {
        self.deleted * 10 >= self.rows && self.deleted > 0
    }
}

/// Returns the files to merge next, as runs. The merged files will have about `target` bytes. Returns `None` if nothing
/// is left to merge. A caller that merges and plans again and again comes to this end.
pub(super) fn next(files: &[Candidate], effort: Effort, target: u64) -> Option<Vec<Vec<Candidate>>> {
    let group = match effort {
        Effort::Thorough => overlapping(files, target),
        Effort::Thrifty => small_files(files, target)
            .or_else(|| deep_runs(files))
            .or_else(|| worn_file(files)),
    }?;
    let mut group = runs(group);
    if group.len() > FAN_IN {
        // Merge only the smallest runs now. A later merge takes their result together with the other runs.
        group.sort_by_key(|run| bytes(run));
        group.truncate(FAN_IN);
    }
    Some(group)
}

/// Returns the first group of files, in the order of owners, that is worth merging. The files of a group overlap, or
/// are small and adjacent. A file that is worth rewriting alone is a group, too.
fn overlapping(files: &[Candidate], target: u64) -> Option<Vec<Candidate>> {
    let mut overlaps: Vec<Vec<Candidate>> = Vec::new();
    let mut end = i64::MIN;
    for file in sorted(files) {
        match overlaps.last_mut() {
            Some(overlap) if *file.owners.start() <= end => overlap.push(file.clone()),
            _ => overlaps.push(vec![file.clone()]),
        }
        end = end.max(*file.owners.end());
    }
    let mut group: Vec<Candidate> = Vec::new();
    for overlap in overlaps {
        let both_small = bytes(&group) < target / SMALL && bytes(&overlap) < target / SMALL;
        if !both_small {
            if worth_merging(&group) {
                return Some(group);
            }
            group.clear();
        }
        group.extend(overlap);
    }
    worth_merging(&group).then_some(group)
}

fn worth_merging(group: &[Candidate]) -> bool {
    group.len() > 1 || group.iter().any(Candidate::worn)
}

/// Returns small files of similar size (see `TINY`). `None` if there are fewer than [`SMALL_FILES`].
fn small_files(files: &[Candidate], target: u64) -> Option<Vec<Candidate>> {
    let mut small: Vec<Candidate> = files.iter().filter(|file| file.small(target)).cloned().collect();
    small.sort_by_key(|file| file.bytes);
    let mut sum = 0;
    let like = small
        .iter()
        .take_while(|file| {
            let like = file.bytes <= (target / TINY).max(2 * sum);
            sum += file.bytes;
            like
        })
        .count();
    small.truncate(like);
    (small.len() >= SMALL_FILES).then_some(small)
}

/// Returns the files of the smallest runs, so many that `LEFT_RUNS` runs or fewer are left after their merge. `None` if
/// there are at most [`MAX_RUNS`] runs.
fn deep_runs(files: &[Candidate]) -> Option<Vec<Candidate>> {
    let mut runs = runs(files.to_vec());
    if runs.len() <= MAX_RUNS {
        return None;
    }
    runs.sort_by_key(|run| bytes(run));
    let min_count = runs.len() - LEFT_RUNS + 1;
    let mut sum = 0;
    let count = runs
        .iter()
        .enumerate()
        .take_while(|(at, run)| {
            let size = bytes(run);
            let take = *at < min_count || size <= sum;
            sum += size;
            take
        })
        .count();
    runs.truncate(count);
    Some(runs.concat())
}

fn worn_file(files: &[Candidate]) -> Option<Vec<Candidate>> {
    files.iter().find(|file| file.worn()).map(|file| vec![file.clone()])
}

/// Divides files into the minimum number of runs. Each file joins the run with the latest end before the file's
/// start. So runs of few wide files and runs of many narrow files stay apart.
fn runs(files: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut runs: Vec<Vec<Candidate>> = Vec::new();
    // The end of each run, and the index of the run in `runs`. The set is sorted, so it yields the latest end before a
    // start without a look at every run.
    let mut ends: std::collections::BTreeSet<(i64, usize)> = std::collections::BTreeSet::new();
    for file in sorted(&files) {
        let free = ends.range(..(*file.owners.start(), 0)).next_back().copied();
        let at = match free {
            Some(end) => {
                ends.remove(&end);
                end.1
            }
            None => {
                runs.push(Vec::new());
                runs.len() - 1
            }
        };
        runs[at].push(file.clone());
        ends.insert((*file.owners.end(), at));
    }
    runs
}

fn sorted(files: &[Candidate]) -> Vec<&Candidate> {
    let mut files: Vec<&Candidate> = files.iter().collect();
    files.sort_by_key(|file| (*file.owners.start(), file.id));
    files
}

fn bytes(files: &[Candidate]) -> u64 {
    files.iter().map(|file| file.bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const TARGET: u64 = 128 << 20;

    fn file(id: u64, owners: RangeInclusive<i64>, bytes: u64) -> Candidate {
        Candidate {
            id,
            owners,
            bytes,
            rows: 100,
            deleted: 0,
        }
    }

    /// Simulates a merge. Returns files with disjoint owner ranges and about the target size. An owner is in one file
    /// only.
    fn merge(group: &[Vec<Candidate>], next_id: &mut u64) -> Vec<Candidate> {
        let files = group.concat();
        let (first, last) = files.iter().fold((i64::MAX, i64::MIN), |(first, last), file| {
            (first.min(*file.owners.start()), last.max(*file.owners.end()))
        });
        let pieces = super::super::merge::pieces(bytes(&files), TARGET).min((last - first) as u64 + 1) as i64;
        let width = (last - first + 1) / pieces;
        (0..pieces)
            .map(|at| {
                *next_id += 1;
                let start = first + at * width;
                let end = if at + 1 == pieces { last } else { start + width - 1 };
                file(*next_id, start..=end, bytes(&files) / pieces as u64)
            })
            .collect()
    }

    fn depth(files: &[Candidate]) -> usize {
        files
            .iter()
            .map(|file| {
                files
                    .iter()
                    .filter(|other| other.owners.contains(file.owners.start()))
                    .count()
            })
            .max()
            .unwrap_or(0)
    }

    fn settle(mut files: Vec<Candidate>, effort: Effort) -> Vec<Candidate> {
        let mut next_id = 1_000_000;
        for _ in 0..200 {
            let Some(group) = next(&files, effort, TARGET) else {
                return files;
            };
            assert!(group.len() <= FAN_IN);
            for run in &group {
                assert!(
                    run.windows(2).all(|pair| pair[0].owners.end() < pair[1].owners.start()),
                    "a run is disjoint"
                );
            }
            let gone: BTreeSet<u64> = group.iter().flatten().map(|file| file.id).collect();
            files.retain(|file| !gone.contains(&file.id));
            files.extend(merge(&group, &mut next_id));
        }
        panic!("compaction does not come to an end");
    }

    fn any_files() -> impl Strategy<Value = Vec<Candidate>> {
        let file = (0i64..2_000, prop_oneof![0i64..3, 0i64..2_000], 10u32..30, 0u64..30);
        prop::collection::vec(file, 0..120).prop_map(|files| {
            files
                .into_iter()
                .enumerate()
                .map(|(id, (start, width, log, deleted))| Candidate {
                    id: id as u64,
                    owners: start..=start + width,
                    bytes: (1 << log) + id as u64,
                    rows: 100,
                    deleted,
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn thorough_ends_with_disjoint_files(files in any_files()) {
            let settled = settle(files, Effort::Thorough);
            prop_assert!(depth(&settled) <= 1);
            prop_assert!(!settled.iter().any(Candidate::worn));
            let order = sorted(&settled);
            prop_assert!(!order.windows(2).any(|pair| pair[0].small(TARGET) && pair[1].small(TARGET)));
        }

        #[test]
        fn thrifty_ends_with_at_most_eight_files_an_owner(files in any_files()) {
            let settled = settle(files, Effort::Thrifty);
            prop_assert!(depth(&settled) <= MAX_RUNS);
            prop_assert!(!settled.iter().any(Candidate::worn));
        }
    }

    #[test]
    fn nothing_to_do_is_nothing() {
        let files = [file(1, 0..=9, TARGET), file(2, 10..=19, 1000), file(3, 20..=29, TARGET)];
        assert_eq!(next(&files, Effort::Thorough, TARGET), None);
        assert_eq!(next(&files, Effort::Thrifty, TARGET), None);
        assert_eq!(next(&[], Effort::Thorough, TARGET), None);
    }

    #[test]
    fn thrifty_leaves_a_large_run_alone_while_small_ones_can_be_merged() {
        let mut files = vec![file(1, 0..=99, 50 * TARGET)];
        files.extend((2..11).map(|id| file(id, 0..=99, TARGET / SMALL)));
        let group = next(&files, Effort::Thrifty, TARGET).unwrap();
        assert!(group.iter().flatten().all(|file| file.id != 1));
        assert!(group.len() >= 7);
    }

    #[test]
    fn many_small_files_of_one_person_each_are_one_run() {
        let files: Vec<Candidate> = (0..500).map(|id| file(id, id as i64..=id as i64, 20_000)).collect();
        assert_eq!(next(&files, Effort::Thrifty, TARGET).unwrap().len(), 1);
    }
}
