//! The links whose passcodes this process is checking. While one try of a link is checked, other tries of it are
//! refused.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The ids of the links whose passcodes are being checked.
#[derive(Debug, Default)]
pub(in crate::consent) struct Guesses(Mutex<HashSet<String>>);

/// A check in progress. Dropping it allows the next try for the link.
pub(super) struct Check<'g> {
    guesses: &'g Guesses,
    link: &'g str,
}

impl Guesses {
    pub(super) fn begin<'g>(&'g self, link: &'g str) -> Option<Check<'g>> {
        let is_first = {
            let mut checked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            checked.insert(link.to_owned())
        };
        is_first.then(|| Check { guesses: self, link })
    }
}

impl Drop for Check<'_> {
    fn drop(&mut self) {
        let mut checked = self.guesses.0.lock().unwrap_or_else(PoisonError::into_inner);
        checked.remove(self.link);
    }
}
