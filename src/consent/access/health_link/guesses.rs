//! The links whose passcodes are being checked. It serializes the tries of one link.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The links whose passcodes are being checked.
#[derive(Debug, Default)]
pub(in crate::consent) struct Guesses(Mutex<HashSet<String>>);

/// A check under way.
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
