//! The keys of a lake's files, for commits and erasures.

use std::collections::BTreeSet;

use super::{FileKey, KeyId};
use crate::lake::error::LakeError;
use crate::lake::store::folder::Folder;

impl Folder {
    /// Stores the keys of files durably, before the catalog names the files.
    pub(in crate::lake) fn keep_keys<'k>(&self, keys: impl Iterator<Item = &'k FileKey>) -> Result<(), LakeError> {
        let keys: Vec<FileKey> = keys.cloned().collect();
        if keys.is_empty() {
            Ok(())
        } else {
            Ok(self.keys().keep(&keys)?)
        }
    }

    /// Destroys all keys but these. The others belong to files that were erased or that no snapshot has. Returns the
    /// number of destroyed keys.
    pub(in crate::lake) fn destroy_keys_but(&self, kept: &BTreeSet<KeyId>) -> Result<usize, LakeError> {
        let gone = self.keys_but(kept)?;
        self.keys().destroy(&gone)?;
        Ok(gone.len())
    }

    /// The same, and in every registered copy of the keys database. An error if a copy cannot be written.
    pub(in crate::lake) fn retire_keys_but(&self, kept: &BTreeSet<KeyId>) -> Result<(), LakeError> {
        self.destroy_keys_but(kept)?;
        Ok(self.keys().retire_in_copies(kept)?)
    }

    /// All keys but these.
    pub(in crate::lake) fn keys_but(&self, named: &BTreeSet<KeyId>) -> Result<Vec<KeyId>, LakeError> {
        let all = self.keys().ids()?;
        Ok(all.into_iter().filter(|id| !named.contains(id)).collect())
    }
}
