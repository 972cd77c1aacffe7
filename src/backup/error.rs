//! Errors of backup and restore.

use std::path::{Path, PathBuf};

use crate::consent;
use crate::lake::check::Finding;
use crate::lake::store::image::Lost;
use crate::lake::{LakeError, SealError};

/// An error of a backup or a restore. It leaves existing snapshots intact.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// An error of the lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// An error of the service's store.
    #[error(transparent)]
    Service(#[from] consent::Error),
    /// An error of the file system.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action, for example `read`.
        action: &'static str,
        /// The path of the file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A given folder cannot be used.
    #[error("{} {what}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The reason, as the rest of a sentence that begins with the path.
        what: &'static str,
    },
    /// The folder into which a backup is being restored has something that no restore has made.
    #[error(
        "{} is not empty: no restore has made {entry} there; move it away, and repeat the restore",
        .path.display()
    )]
    Foreign {
        /// The data folder.
        path: PathBuf,
        /// The name in the folder.
        entry: String,
    },
    /// Another process uses this folder of backups.
    #[error("another process is at work in {}; try again later", .0.display())]
    Busy(PathBuf),
    /// Files of the lake are damaged or missing, so no backup was made.
    #[error("{}", damaged(.0))]
    LakeDamaged(Vec<Finding>),
    /// The lake removed files during each attempt to copy them, so no complete copy could be made.
    #[error("the lake at {} changed faster than it could be copied; try again later", .0.display())]
    Changing(PathBuf),
    /// The lake is being sealed or unsealed.
    #[error(
        "no backup was made, because the lake at {} has sealed files and files in clear: `tabularium seal` or `tabularium unseal` ends that",
        .0.display()
    )]
    Halfway(PathBuf),
    /// The keys of a sealed lake were not given.
    #[error(
        "{} is of a sealed lake: name its keys with --keys, which is the lake's keys.sqlite or your copy of it",
        .0.display()
    )]
    NoKeys(PathBuf),
    /// The keys of a sealed lake were given from the folder into which the backup is to be restored.
    #[error(
        "the keys {} are in the data folder {}, and a backup is restored into an empty folder: move them to another place, and name them there",
        .keys.display(),
        .data.display()
    )]
    KeysBelow {
        /// The given path of the keys.
        keys: PathBuf,
        /// The data folder.
        data: PathBuf,
    },
    /// The keys of a sealed lake cannot be read.
    #[error(transparent)]
    Keys(#[from] SealError),
    /// Keys were destroyed, so files of the sealed lake can no longer be read.
    #[error(
        "snapshot {id} cannot be restored whole, because {lost} are sealed with keys that were destroyed since, as an erasure does; `tabularium backup --data DIR --to {}` makes a whole one after an erasure, and --accept-loss restores all else",
        .path.display()
    )]
    Unreadable {
        /// The folder of backups.
        path: PathBuf,
        /// The id of the snapshot.
        id: String,
        /// The files and rows that would be missing in the restored lake.
        lost: Lost,
    },
    /// The snapshot does not exist.
    #[error("{} has no snapshot {wanted}{}", .path.display(), list(.known))]
    NoSnapshot {
        /// The folder of backups.
        path: PathBuf,
        /// The id of the requested snapshot. If the newest one was requested, it is `yet`, for the message "has no
        /// snapshot yet".
        wanted: String,
        /// The ids of the existing snapshots.
        known: Vec<String>,
    },
    /// A file of the backup is missing or was changed.
    #[error("the backup is damaged: {} {what}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault of the file.
        what: String,
    },
    /// The ledger of erasures cannot be used. Without it, the restored lake would have the records of people who were
    /// erased since the backup.
    #[error(
        "the ledger of erasures {} {what}, so people who were erased since the backup would come back; name the right one with --erasures, or accept that with --accept-resurrection",
        .path.display()
    )]
    NoLedger {
        /// The path at which the ledger was expected.
        path: PathBuf,
        /// What is wrong, as the rest of a sentence that begins with the path.
        what: String,
    },
    /// The rules of normalization cannot be read, or the erasures of the service's store cannot be carried out.
    #[error("{0}")]
    Rules(String),
}

impl BackupError {
    /// Returns a function for `map_err` that adds the action and the path to a file system error.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> BackupError {
        let path = path.to_owned();
        move |source| BackupError::Io { action, path, source }
    }

    pub(super) fn damaged(path: &Path, what: impl Into<String>) -> BackupError {
        BackupError::Damaged {
            path: path.to_owned(),
            what: what.into(),
        }
    }

    /// Whether the caller caused the error, for example by a wrong folder or by missing keys.
    pub fn is_of_input(&self) -> bool {
        match self {
            BackupError::Lake(error) => matches!(
                error,
                LakeError::Missing(_)
                    | LakeError::Version { .. }
                    | LakeError::Restoring(_)
                    | LakeError::Ledger { .. }
                    | LakeError::Older { .. }
                    | LakeError::Keys { .. }
            ),
            BackupError::Keys(error) => error.is_of_input(),
            BackupError::Folder { .. }
            | BackupError::Foreign { .. }
            | BackupError::KeysBelow { .. }
            | BackupError::NoSnapshot { .. }
            | BackupError::NoLedger { .. }
            | BackupError::Halfway(_)
            | BackupError::NoKeys(_)
            | BackupError::Unreadable { .. } => true,
            _ => false,
        }
    }

    /// Whether the lake or the backup has damaged files.
    pub fn is_of_damage(&self) -> bool {
        matches!(self, BackupError::LakeDamaged(_) | BackupError::Damaged { .. })
    }
}

fn damaged(findings: &[Finding]) -> String {
    let first = findings.first();
    let first = first.map_or_else(String::new, |one| format!("{}: {}", one.path.display(), one.problem));
    let more = match findings.len() {
        0 | 1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    format!(
        "no backup was made, because the lake is damaged: {first}{more}; `tabularium check` says what is wrong, and the snapshots that are there stay"
    )
}

fn list(known: &[String]) -> String {
    match known {
        [] => String::new(),
        known => format!("; it has {}", known.join(", ")),
    }
}
