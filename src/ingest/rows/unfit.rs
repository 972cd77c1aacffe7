//! Resources that do not fit into a table: an object has a duplicate property, or the table would need too many
//! columns. The import notices this only when it writes them. But the rules must not use resources that are not stored.
//! So the import reads its input again and hides these resources from the rules.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::path::Path;

use rustc_hash::{FxHashSet, FxHasher};

use super::super::error::Refusal;
use super::block::Origin;

/// Hashes of the positions (file, line and Bundle entry) of resources that do not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ingest) struct Unfit(FxHashSet<u64>);

impl Unfit {
    /// Adds the position of a refused resource. A resource without a file is ignored: a rule changed or generated it,
    /// so it is not in the input.
    pub(in crate::ingest) fn add(&mut self, refusal: &Refusal) {
        if refusal.file.as_os_str().is_empty() {
            return;
        }
        let origin = Origin {
            line: refusal.line,
            entry: refusal.entry.map(|entry| entry as u32),
        };
        self.0.insert(place(&refusal.file, origin));
    }

    pub(in crate::ingest) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(in crate::ingest) fn holds(&self, file: &Path, origin: Origin) -> bool {
        !self.is_empty() && self.0.contains(&place(file, origin))
    }

    /// Whether `other` has all positions of this set. Then a further pass with the positions of `other` hides nothing
    /// new.
    pub(in crate::ingest) fn is_within(&self, other: &Unfit) -> bool {
        self.0.is_subset(&other.0)
    }

    pub(in crate::ingest) fn add_all(&mut self, other: Unfit) {
        self.0.extend(other.0);
    }
}

fn place(file: &Path, origin: Origin) -> u64 {
    let hasher = BuildHasherDefault::<FxHasher>::default();
    hasher.hash_one((file, origin.line, origin.entry))
}
