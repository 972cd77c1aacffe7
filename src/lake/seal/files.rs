//! Stores and destroys the keys of a lake's files, for commits and erasures.

use std::collections::BTreeSet;

use super::{FileKey, KeyId};
use crate::lake::error::LakeError;
use crate::lake::store::folder::Folder;

impl Folder {
    /// Stores the keys of files durably. A commit calls this before the catalog names the files.
    pub(in crate::lake) fn keep_keys<'k>(&self, keys: impl Iterator<Item = &'k FileKey>) -> Result<(), LakeError> {
        let keys: Vec<FileKey> = keys.cloned().collect();
        if keys.is_empty() {
            Ok(())
        } else {
            Ok(self.keys().keep(&keys)?)
        }
    }

    /// Destroys all keys but `kept`. The destroyed keys belong to files that were erased or that no snapshot has.
    /// Returns the number of destroyed keys.
    pub(in crate::lake) fn destroy_keys_but(&self, kept: &BTreeSet<KeyId>) -> Result<usize, LakeError> {
        let gone = self.keys_but(kept)?;
        self.keys().destroy(&gone)?;
        Ok(gone.len())
    }

    /// Destroys all keys but `kept`, in the keys database and in every registered copy. Fails if a copy cannot be
    /// written.
    pub(in crate::lake) fn retire_keys_but(&self, kept: &BTreeSet<KeyId>) -> Result<(), LakeError> {
        self.destroy_keys_but(kept)?;
        Ok(self.keys().retire_in_copies(kept)?)
    }

    /// Returns the ids of all stored keys but `named`.
    pub(in crate::lake) fn keys_but(&self, named: &BTreeSet<KeyId>) -> Result<Vec<KeyId>, LakeError> {
        let all = self.keys().ids()?;
        Ok(all.into_iter().filter(|id| !named.contains(id)).collect())
    }
}
