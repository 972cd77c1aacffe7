//! The page size of searches. A source with a maximum answers a larger `_count` with 400. Then smaller sizes are tried,
//! and the accepted one is remembered.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The sizes to try, the largest first. With 0 the source chooses the size.
const SIZES: [u32; 5] = [200, 50, 20, 10, 0];

/// The page sizes of one source, as far as a job knows them.
#[derive(Debug)]
pub(in crate::sync::jobs) struct PageSizes(Mutex<Sizes>);

#[derive(Debug)]
struct Sizes {
    /// The size with which the next search begins.
    first: u32,
    /// The sizes that the source has accepted during this job.
    taken: BTreeSet<u32>,
    remembered: Option<u32>,
}

impl PageSizes {
    /// Starts with the size that is remembered for the source.
    pub(in crate::sync::jobs) fn new(remembered: Option<u32>) -> PageSizes {
        PageSizes(Mutex::new(Sizes {
            first: remembered.unwrap_or(SIZES[0]),
            taken: BTreeSet::new(),
            remembered,
        }))
    }

    /// Returns the size with which a search begins.
    pub(in crate::sync::jobs) fn first(&self) -> u32 {
        self.sizes().first
    }

    /// Returns the next smaller size.
    pub(in crate::sync::jobs) fn smaller(&self, size: u32) -> Option<u32> {
        SIZES.into_iter().find(|one| *one < size)
    }

    /// Whether a refusal of a search with this page size must have another reason than the size. This is so if the
    /// source has accepted the size during the job, or if it chose the size itself (`size` is 0).
    pub(in crate::sync::jobs) fn is_proven(&self, size: u32) -> bool {
        size == 0 || self.sizes().taken.contains(&size)
    }

    /// Records that the source accepted a page size. Returns the size to remember, if it has changed.
    pub(in crate::sync::jobs) fn took(&self, size: u32) -> Option<u32> {
        let mut sizes = self.sizes();
        sizes.taken.insert(size);
        sizes.first = sizes.first.min(size);
        let news = sizes.remembered != Some(sizes.first);
        sizes.remembered = Some(sizes.first);
        news.then_some(sizes.first)
    }

    fn sizes(&self) -> MutexGuard<'_, Sizes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_down_and_what_was_taken_is_remembered_once() {
        let sizes = PageSizes::new(None);
        assert_eq!(
            (sizes.first(), sizes.smaller(200), sizes.smaller(10), sizes.smaller(0)),
            (200, Some(50), Some(0), None)
        );
        assert!(!sizes.is_proven(200) && sizes.is_proven(0));
        assert_eq!((sizes.took(50), sizes.took(50), sizes.first()), (Some(50), None, 50));
        assert!(sizes.is_proven(50));
        let known = PageSizes::new(Some(50));
        assert_eq!((known.first(), known.took(50), known.is_proven(20)), (50, None, false));
        assert_eq!(
            (known.smaller(50), known.took(0), known.first()),
            (Some(20), Some(0), 0)
        );
    }
}
