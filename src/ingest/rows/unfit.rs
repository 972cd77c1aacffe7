//! Resources that do not fit into a table: an object has a duplicate property, or there is no room for more columns.
//! The import notices this only when it writes them. The rules must not use resources that are not stored, so the input
//! is then read again without them.

use std::hash::{BuildHasher, BuildHasherDefault};
use std::path::Path;

use rustc_hash::{FxHashSet, FxHasher};

use super::super::error::Refusal;
use super::block::Origin;

/// The positions of such resources, by a hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::ingest) struct Unfit(FxHashSet<u64>);

impl Unfit {
    /// Notes a refused resource. A resource from the rules has no file and is not read again.
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

    /// Whether `other` contains all of these positions.
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
