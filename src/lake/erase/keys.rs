//! Destroying keys: those of files that an erasure has replaced, so that older copies of these files stay unreadable
//! wherever they are, and those that killed writers have left.
//!
//! The exchange of files notes in its own transaction that keys are to be destroyed, and the note goes once they are:
//! whoever is killed in between leaves it to the next writer. All keys go that no file of any snapshot has, whatever
//! erased them or gave them up: nobody can say whose records a file has held that is not there any more.
//!
//! A key is kept before the catalog names its file. A process that is killed in between leaves a key of nobody's, which
//! goes at the start of the next writer. That one holds the lake's lock, so no other writer has just kept a key.
//! Keys of expired files stay until the next erasure, since backups may have these files: the catalog lists them.

use std::collections::BTreeSet;

use crate::lake::attachment::{self, TABLE};
use crate::lake::catalog;
use crate::lake::commit::writer::LakeWriter;
use crate::lake::error::LakeError;
use crate::lake::seal::{KeyId, Kind, remove_database};

impl LakeWriter {
    /// Destroys the keys that an erasure has noted. Does nothing where none has.
    pub(in crate::lake) fn destroy_keys(&self) -> Result<(), LakeError> {
        if !catalog::has_keys_to_destroy(&self.connection)? {
            return Ok(());
        }
        let folder = self.lake().folder();
        // By the catalog, which is this writer's: what the process knows may be older.
        match catalog::kind(&self.connection)? {
            // It was a sealed lake, and no file of it is sealed any more.
            Kind::Open => remove_database(folder.path())?,
            _ => drop(folder.destroy_keys_but(&self.named_keys()?)?),
        }
        catalog::keys_are_destroyed(&self.connection)
    }

    /// The same after an erasure that may have changed no file, but was of people whose records were in files that
    /// are gone.
    pub(super) fn destroy_all_keys(&self) -> Result<(), LakeError> {
        catalog::have_keys_destroyed(&self.connection)?;
        self.destroy_keys()
    }

    /// Destroys the keys that killed writers have left: no file of any snapshot has them, and none had.
    pub(in crate::lake) fn sweep_keys(&self) -> Result<(), LakeError> {
        let folder = self.lake().folder();
        if !catalog::kind(&self.connection)?.has_keys() {
            return Ok(());
        }
        let mut kept = self.named_keys()?;
        match catalog::expired_keys(&self.connection)? {
            Some(expired) => kept.extend(ids(expired)?),
            // An earlier program, or a new catalog, has not noted which files have expired: all of them may have.
            None => {
                let unnamed = folder.keys_but(&kept)?;
                return catalog::list_expired_keys(&self.connection, unnamed.iter().map(ToString::to_string));
            }
        }
        let swept = folder.destroy_keys_but(&kept)?;
        if swept > 0 {
            tracing::info!(keys = swept, "destroyed keys that an interrupted writer has left");
        }
        Ok(())
    }

    /// The keys of all files of all snapshots.
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
