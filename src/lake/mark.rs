//! The mark beside the catalog, `DIR/catalog.mark`: where the catalog stood when the last writer left it. A catalog that stands
//! before its mark is an older copy, and one that stands at its mark has the rows that the mark's digest is of.
//!
//! The mark is written after the catalog: whoever is killed in between leaves a mark that is too low, which says less and
//! never anything wrong. It also keeps the owner key, without which a lost catalog could not be made anew.

use serde::{Deserialize, Serialize};

use super::catalog::{self, Standing};
use super::error::LakeError;
use super::folder::Folder;
use super::owner::OwnerKey;
use super::private;

/// The file's contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    newest_snapshot: u64,
    erasures: u64,
    oldest_snapshot: u64,
    /// Of the catalog's rows, as hexadecimal digits; `None` where they were not written yet.
    digest: Option<String>,
    owner_key: String,
}

impl Mark {
    /// The mark of a catalog that is about to be made.
    pub(super) fn of_new(key: OwnerKey) -> Mark {
        Mark {
            newest_snapshot: 0,
            erasures: 0,
            oldest_snapshot: 0,
            digest: None,
            owner_key: key.to_hex(),
        }
    }

    /// The mark of the catalog as it is.
    pub(super) fn take(connection: &rusqlite::Connection) -> Result<Mark, LakeError> {
        let standing = catalog::standing(connection)?;
        Ok(Mark {
            newest_snapshot: standing.newest,
            erasures: standing.erasures,
            oldest_snapshot: standing.oldest,
            digest: Some(format!("{:016x}", catalog::digest(connection)?)),
            owner_key: catalog::owner_key(connection)?.to_hex(),
        })
    }

    /// The mark of a lake; `None` where there is none, or none that can be read: it says nothing then.
    pub(super) fn read(folder: &Folder) -> Option<Mark> {
        let text = std::fs::read(folder.mark()).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Puts this mark in the place of the one before.
    pub(super) fn write(&self, folder: &Folder) -> Result<(), LakeError> {
        let (path, new) = (folder.mark(), folder.new_mark());
        let write = || -> std::io::Result<()> {
            let file = private::options().write(true).create(true).truncate(true).open(&new)?;
            serde_json::to_writer(&file, self)?;
            std::fs::rename(&new, &path)
        };
        write().map_err(LakeError::io("write", &path))
    }

    /// Whether the catalog stands where this mark says.
    pub(super) fn is_at(&self, standing: &Standing) -> bool {
        (self.newest_snapshot, self.erasures, self.oldest_snapshot)
            == (standing.newest, standing.erasures, standing.oldest)
    }

    /// Whether it has a digest.
    pub(super) fn is_whole(&self) -> bool {
        self.digest.is_some()
    }

    /// The owner key that it keeps.
    pub(super) fn owner_key(&self) -> Option<OwnerKey> {
        OwnerKey::from_hex(&self.owner_key)
    }

    /// Why the catalog cannot be the one that was marked; `None` where it can.
    pub(super) fn contradiction(&self, connection: &rusqlite::Connection) -> Result<Option<String>, LakeError> {
        let now = catalog::standing(connection)?;
        if now.newest < self.newest_snapshot || now.erasures < self.erasures || now.oldest < self.oldest_snapshot {
            return Ok(Some(format!(
                "it is an older copy: it ends with snapshot {} and {} changes by erasures, the last writer left {} and {}",
                now.newest, now.erasures, self.newest_snapshot, self.erasures
            )));
        }
        if self.owner_key() != Some(catalog::owner_key(connection)?) {
            return Ok(Some("it is the catalog of another lake, by its owner key".to_owned()));
        }
        let changed = self.is_at(&now)
            && match &self.digest {
                Some(digest) => *digest != format!("{:016x}", catalog::digest(connection)?),
                None => false,
            };
        Ok(changed.then(|| "its rows are not those that the last writer left".to_owned()))
    }
}
