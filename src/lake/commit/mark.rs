//! The mark beside the catalog, `DIR/catalog.mark`: the catalog's state when the last writer left it. A catalog with
//! lower numbers than its mark is an older copy. A catalog with the same numbers must have rows with the mark's
//! digest.
//!
//! The mark is written after each commit. A process killed in between leaves a mark that is too low. Such a mark
//! detects fewer faults, but never makes a writer refuse a correct catalog. The mark also keeps what a new catalog
//! needs if the old one is lost: the owner key, the record of the ledger of erasures, and the erasures whose files may
//! remain.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::super::catalog;
use super::super::catalog::CatalogState;
use super::super::erase::Intent;
use super::super::erase::ledger::Entered;
use super::super::error::LakeError;
use super::super::owners::owner::OwnerKey;
use super::super::owners::scope::{Mode, PatientScope};
use super::super::seal::Kind;
use super::super::store::disk::sync_folder;
use super::super::store::folder::Folder;
use crate::private;

/// The contents of `catalog.mark`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::lake) struct Mark {
    newest_snapshot: u64,
    erasures: u64,
    oldest_snapshot: u64,
    /// The digest of the catalog's rows, as hexadecimal digits. `None` in the mark that is written before the catalog
    /// exists.
    rows_digest: Option<String>,
    owner_key: String,
    /// The ledger in which erasures must be entered, and the entries that it must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ledger: Option<Entered>,
    /// Whether a writer must still destroy keys of a sealed lake.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    keys_to_destroy: bool,
    /// Whether new files are sealed during a conversion, when files of both kinds may exist. `None` if no conversion is
    /// running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_sealing: Option<bool>,
    /// Recorded erasures. An erasure stays here until all its old files are known to be gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unfinished_erasures: Vec<Unfinished>,
}

/// An erasure's [`Intent`], as `catalog.mark` stores it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Unfinished {
    mode: String,
    application: String,
    patients: Vec<String>,
    owners: Vec<i64>,
    authorizations: Vec<String>,
}

impl Unfinished {
    fn of(intent: Intent) -> Unfinished {
        Unfinished {
            mode: intent.mode.schema().to_owned(),
            application: intent.application,
            patients: intent.patient.patients,
            owners: intent.patient.owners,
            authorizations: intent.patient.authorizations,
        }
    }

    fn intent(&self) -> Option<Intent> {
        Some(Intent {
            mode: Mode::named(&self.mode)?,
            application: self.application.clone(),
            patient: PatientScope {
                patients: self.patients.clone(),
                owners: self.owners.clone(),
                authorizations: self.authorizations.clone(),
            },
        })
    }
}

impl Mark {
    /// Returns the mark for a catalog that is about to be created.
    pub(in crate::lake) fn of_new(key: OwnerKey) -> Mark {
        Mark {
            newest_snapshot: 0,
            erasures: 0,
            oldest_snapshot: 0,
            rows_digest: None,
            owner_key: key.to_hex(),
            ledger: None,
            keys_to_destroy: false,
            is_sealing: None,
            unfinished_erasures: Vec::new(),
        }
    }

    /// Returns the mark for the catalog's present state, with the digest of its rows. `before` is the existing mark.
    pub(in crate::lake) fn take(
        connection: &rusqlite::Connection,
        digest: u64,
        before: Option<&Mark>,
    ) -> Result<Mark, LakeError> {
        let state = catalog::state(connection)?;
        let recorded = catalog::unfinished(connection)?;
        let mut unfinished_erasures: Vec<Unfinished> = recorded.into_iter().map(Unfinished::of).collect();
        // Keep the erasures of the existing mark while a released file exists: the file may hold rows of these
        // erasures, even if the catalog has finished them.
        if catalog::has_scheduled(connection)? {
            let before = before.into_iter().flat_map(|before| &before.unfinished_erasures);
            for one in before {
                if !unfinished_erasures.contains(one) {
                    unfinished_erasures.push(one.clone());
                }
            }
        }
        let kind = catalog::kind(connection)?;
        Ok(Mark {
            keys_to_destroy: catalog::has_keys_to_destroy(connection)?,
            is_sealing: kind.is_halfway().then_some(kind.seals()),
            newest_snapshot: state.newest,
            erasures: state.erasures,
            oldest_snapshot: state.oldest,
            rows_digest: Some(hexadecimal(digest)),
            owner_key: catalog::owner_key(connection)?.to_hex(),
            ledger: catalog::ledger(connection)?,
            unfinished_erasures,
        })
    }

    /// Reads the mark of a lake. Returns `None` if there is none or if it cannot be read. In both cases there is no
    /// mark with which the catalog can be compared.
    pub(in crate::lake) fn read(folder: &Folder) -> Option<Mark> {
        let text = private::read(&folder.mark()).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Adds erasures that are about to be recorded.
    pub(in crate::lake) fn announcing(mut self, intents: &[&Intent]) -> Mark {
        for intent in intents {
            let one = Unfinished::of(Intent::clone(intent));
            if !self.unfinished_erasures.contains(&one) {
                self.unfinished_erasures.push(one);
            }
        }
        self
    }

    /// Replaces the mark `before` by this one. If either of them has unfinished erasures, the new file is synced, so
    /// that a crash of the machine does not lose it.
    pub(in crate::lake) fn write(&self, folder: &Folder, before: Option<&Mark>) -> Result<(), LakeError> {
        let is_durable = before
            .into_iter()
            .chain([self])
            .any(|mark| !mark.unfinished_erasures.is_empty());
        let (path, new) = (folder.mark(), folder.new_mark());
        let write = || -> std::io::Result<()> {
            let mut file = private::create(&new)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            if is_durable {
                file.sync_all()?;
            }
            std::fs::rename(&new, &path)
        };
        write().map_err(LakeError::io("write", &path))?;
        if is_durable { sync_folder(folder.path()) } else { Ok(()) }
    }

    /// Whether the numbers of the catalog are those of this mark.
    fn is_at(&self, state: &CatalogState) -> bool {
        (self.newest_snapshot, self.erasures, self.oldest_snapshot) == (state.newest, state.erasures, state.oldest)
    }

    /// Returns the unfinished erasures in the mark.
    pub(in crate::lake) fn unfinished_erasures(&self) -> Vec<Intent> {
        self.unfinished_erasures.iter().filter_map(Unfinished::intent).collect()
    }

    /// Returns the id of the newest snapshot, and how many times an erasure was recorded or finished.
    pub(in crate::lake) fn counts(&self) -> (u64, u64) {
        (self.newest_snapshot, self.erasures)
    }

    /// Returns the ledger in which erasures must be entered, and the entries that it must have.
    pub(in crate::lake) fn ledger(&self) -> Option<&Entered> {
        self.ledger.as_ref()
    }

    /// Whether a writer must still destroy keys of a sealed lake.
    pub(in crate::lake) fn has_keys_to_destroy(&self) -> bool {
        self.keys_to_destroy
    }

    /// Returns the kind of the lake if a conversion is running.
    pub(in crate::lake) fn halfway(&self) -> Option<Kind> {
        let is_sealing = self.is_sealing?;
        Some(if is_sealing { Kind::Sealing } else { Kind::Unsealing })
    }

    /// Returns the owner key in the mark. `None` if it is not valid.
    pub(in crate::lake) fn owner_key(&self) -> Option<OwnerKey> {
        OwnerKey::from_hex(&self.owner_key)
    }

    /// Returns why this catalog, whose rows have this digest, cannot be the one that the last writer left. `None` if
    /// it can be.
    pub(in crate::lake) fn contradiction(
        &self,
        connection: &rusqlite::Connection,
        digest: u64,
    ) -> Result<Option<String>, LakeError> {
        let now = catalog::state(connection)?;
        if now.newest < self.newest_snapshot || now.erasures < self.erasures || now.oldest < self.oldest_snapshot {
            return Ok(Some(format!(
                "it is an older copy: it ends with snapshot {} and {} changes by erasures, the last writer left {} and {}",
                now.newest, now.erasures, self.newest_snapshot, self.erasures
            )));
        }
        if self.owner_key() != Some(catalog::owner_key(connection)?) {
            return Ok(Some("it is the catalog of another lake, by its owner key".to_owned()));
        }
        let marked = self.rows_digest.as_ref();
        let changed = self.is_at(&now) && marked.is_some_and(|marked| *marked != hexadecimal(digest));
        Ok(changed.then(|| "its rows are not those that the last writer left".to_owned()))
    }
}

fn hexadecimal(digest: u64) -> String {
    format!("{digest:016x}")
}
