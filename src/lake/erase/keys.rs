//! Destroying the keys of files that an erasure has replaced, so that older copies of these files stay unreadable,
//! wherever they are.
//!
//! The exchange of files notes in its own transaction that keys are to be destroyed, and the note goes once they are:
//! whoever is killed in between leaves it to the next writer. All keys go that no file of any snapshot has, whatever
//! erased them or gave them up: nobody can say whose records a file has held that is not there any more.

use std::collections::BTreeSet;

use crate::lake::attachment::{self, TABLE};
use crate::lake::catalog;
use crate::lake::error::LakeError;
use crate::lake::seal::KeyId;
use crate::lake::writer::LakeWriter;

impl LakeWriter {
    /// Destroys the keys that an erasure has noted. Does nothing where none has, as in an open lake.
    pub(in crate::lake) fn destroy_keys(&self) -> Result<(), LakeError> {
        let folder = self.lake().folder();
        if !folder.keys().seals() || !catalog::has_keys_to_destroy(&self.connection)? {
            return Ok(());
        }
        let mut named = BTreeSet::new();
        for id in catalog::named_keys(&self.connection)? {
            let id: Option<KeyId> = id.parse().ok();
            named.insert(id.ok_or_else(|| LakeError::Damaged("encryption_key holds no id of a key".to_owned()))?);
        }
        for one in catalog::all_attachments(&self.connection)? {
            named.extend(attachment::key_of(&folder.table(one.mode, TABLE).join(&one.name))?);
        }
        folder.destroy_keys_but(&named)?;
        catalog::keys_are_destroyed(&self.connection)
    }

    /// The same after an erasure that may have changed no file, but was of people whose records were in files that
    /// are gone.
    pub(super) fn destroy_all_keys(&self) -> Result<(), LakeError> {
        catalog::have_keys_destroyed(&self.connection)?;
        self.destroy_keys()
    }
}
