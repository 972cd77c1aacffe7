//! Makes backups of a data folder while a server uses it, and restores them.
//!
//! A folder of backups holds *snapshots*. Each has a manifest, which names the snapshot's files by their SHA-256. A
//! file of several snapshots is stored once, so another backup stores only the changed files. The manifest is written
//! after all files are durable. There is no snapshot without a manifest.
//!
//! The next backup removes erased rows from the earlier snapshots (`clean`), and a restore does not bring them back
//! (`restore`). Both read the ledger of erasures ([`crate::lake::erase::ledger`]), which is outside the data folder.
//!
//! This module decides which files belong to a backup and where they are. `lake` decides how a lake's files are read
//! and erased.

mod apply;
mod beside;
mod clean;
mod contents;
mod error;
mod files;
mod folder;
mod manifest;
mod mark;
mod repeat;
mod restoring;
mod sealed;
mod take;
mod verify;

pub use apply::Rules;
pub use error::BackupError;
pub use folder::BackupFolder;
pub use manifest::{Manifest, ManifestFile};
pub use repeat::{Repeated, repeat_erasures};
pub use restoring::{Restored, Restoring, restore};
pub use take::{Backed, Options, backup};
pub use verify::{Verified, verify};
