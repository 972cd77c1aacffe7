//! Copies of a data folder that are taken while it is served, and the way back.
//!
//! A folder of backups holds *snapshots*: a manifest each, which names files by their SHA-256. A file that several
//! snapshots have is there once, so a further backup costs what has changed since the last one. A manifest is written
//! when all of its files are there and durable; without one there is no snapshot.
//!
//! What was erased from the lake leaves the snapshots with the next backup (`clean`), and does not come back with a
//! restored one (`restore`): the ledger of erasures ([`crate::lake::erase::ledger`]), which is outside of the data
//! folder, tells.
//!
//! This room decides what belongs to a backup and where it is. How a lake's files are read and erased is `lake`'s.

mod apply;
mod beside;
mod clean;
mod contents;
mod error;
mod files;
mod folder;
mod manifest;
mod restore;
mod sealed;
mod take;
mod verify;

pub use apply::Rules;
pub use error::BackupError;
pub use folder::BackupFolder;
pub use manifest::{Manifest, ManifestFile};
pub use restore::{Restored, Restoring, restore};
pub use take::{Backed, Options, backup};
pub use verify::{Verified, verify};
