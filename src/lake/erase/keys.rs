//! Destroys keys: keys of files that an erasure has replaced, and keys that killed writers left. Then nobody can read
//! any older copy of the replaced files.
//!
//! The transaction that exchanges files also writes a note into the catalog: keys must be destroyed. This note is
//! removed after the keys were destroyed. So if the process is killed before, the next writer destroys the keys. The
//! note also stays while a registered copy of the keys database cannot be written. All keys without a file in any
//! snapshot are destroyed, even if their file was not erased: nobody knows whose records a removed file held.
//!
//! A key is stored before the catalog names its file. A process that is killed in between leaves an unused key. The
//! next writer destroys this key when it starts. This writer holds the lake's lock, so the key cannot be one that
//! another running writer has just stored. Keys of expired files stay until the next erasure, because backups may have
//! these files. The catalog lists these keys.

use std::collections::BTreeSet;
use std::path::Path;

use crate::lake::attachment::{self, TABLE};
use crate::lake::catalog;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::error::LakeError;
use crate::lake::seal::{KeyId, Kind, remove_database};

impl LakeWriter {
    /// Destroys the keys that no file of a snapshot uses, if a note in the catalog requires it. In an open lake,
    /// removes the keys database.
    pub(in crate::lake) fn destroy_keys(&self) -> Result<(), LakeError> {
        if !catalog::has_keys_to_destroy(&self.connection)? {
            return Ok(());
        }
        catalog::overrule_failed_commit(&self.connection)?;
        let folder = self.lake().folder();
        // Read the kind from the catalog. The kind in this process's memory may be older.
        match catalog::kind(&self.connection)? {
            // The lake was sealed, and now it has no sealed files. So no key is needed.
            Kind::Open => remove_database(folder.path())?,
            _ => folder.retire_keys_but(&self.named_keys()?)?,
        }
        catalog::keys_are_destroyed(&self.connection)
    }

    /// Destroys the keys that no file of a snapshot uses, whether or not the catalog has a note. There is no note if
    /// the files with the person's rows were removed earlier, because then the erasure changes no file.
    pub(super) fn destroy_all_keys(&self) -> Result<(), LakeError> {
        catalog::have_keys_destroyed(&self.connection)?;
        self.destroy_keys()
    }

    /// Makes or renews a registered copy of the keys database at this absolute path. Returns the number of keys. No
    /// erasure runs meanwhile, because this writer has the lake's lock.
    pub fn copy_keys(&self, to: &Path) -> Result<u64, LakeError> {
        Ok(self.lake().folder().keys().make_copy(to)?)
    }

    /// Destroys the keys that killed writers have left. No file of any snapshot has or had these keys.
    pub(in crate::lake) fn sweep_keys(&self) -> Result<(), LakeError> {
        let folder = self.lake().folder();
        if !catalog::kind(&self.connection)?.has_keys() {
            return Ok(());
        }
        let mut kept = self.named_keys()?;
        match catalog::expired_keys(&self.connection)? {
            Some(expired) => kept.extend(ids(expired)?),
            // The catalog has no list of expired keys if an earlier version or `tabularium check --adopt` made the
            // catalog. Then a key that no file of the catalog uses may be the key of an expired file. So put all such
            // keys on the list now, and destroy none.
            None => {
                let unnamed = folder.keys_but(&kept)?;
                return catalog::list_expired_keys(&self.connection, unnamed.iter().map(ToString::to_string));
            }
        }
        catalog::overrule_failed_commit(&self.connection)?;
        let swept = folder.destroy_keys_but(&kept)?;
        if swept > 0 {
            tracing::info!(keys = swept, "destroyed keys that an interrupted writer has left");
        }
        Ok(())
    }

    /// Returns the ids of the keys of all files of all snapshots.
    fn named_keys(&self) -> Result<BTreeSet<KeyId>, LakeError> {
        let mut named = ids(catalog::named_keys(&self.connection)?)?;
        let folder = self.lake().folder();
        for one in catalog::all_attachments(&self.connection)? {
            named.extend(attachment::key_of(&folder.table(one.mode, TABLE).join(&one.name))?);
        }
        Ok(named)
    }
}

fn ids(texts: Vec<String>) -> Result<BTreeSet<KeyId>, LakeError> {
    let damaged = || LakeError::Damaged("it names a key by what is no id of one".to_owned());
    let ids = texts.iter().map(|text| text.parse().ok());
    ids.collect::<Option<BTreeSet<KeyId>>>().ok_or_else(damaged)
}
