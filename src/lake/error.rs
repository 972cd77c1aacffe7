//! Errors of the lake's catalog, its files and its lock.

use std::path::{Path, PathBuf};

use super::seal::SealError;

/// An error of opening, reading or writing a lake.
#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    /// There is no lake in this folder.
    #[error("there is no lake in {}", .0.display())]
    Missing(PathBuf),
    /// The path of the lake's folder is the path of a file.
    #[error("{} is a file, not a data folder", .0.display())]
    NoFolder(PathBuf),
    /// Another process, or another writer in this process, holds the write lock. A later retry helps.
    #[error("the lake at {} is being written by process {}", .dir.display(), .pid.map_or("unknown".to_owned(), |pid| pid.to_string()))]
    Busy {
        /// The lake's folder.
        dir: PathBuf,
        /// The process id in the lock file. `None` if the file has no valid number.
        pid: Option<u32>,
    },
    /// This program does not know the format of the catalog, because an earlier or a newer program wrote it.
    #[error("the lake at {} has the format {found}, this program reads {known}; {advice}", .dir.display())]
    Version {
        /// The lake's folder.
        dir: PathBuf,
        /// The metadata key and its value in the catalog, or `unset`.
        found: String,
        /// The values that this program knows.
        known: String,
        /// What to do, as a clause of the message.
        advice: &'static str,
    },
    /// The catalog is damaged or does not match the data files. Nothing was changed. An operator must repair the
    /// lake.
    #[error("the lake at {0} cannot be trusted: {what}; nothing was changed; `tabularium check --data {0}` says what is wrong, and with `--adopt` it makes a new catalog from the data files", .dir.display())]
    Mismatch {
        /// The lake's folder.
        dir: PathBuf,
        /// What is wrong, as a phrase for the message.
        what: String,
    },
    /// Another file has replaced the catalog that this process has open. Opening the lake again helps.
    #[error("the catalog of the lake at {} was replaced while this process had it open; start the process again", .0.display())]
    Replaced(PathBuf),
    /// The requested snapshot has expired or never existed. Starting again from the newest snapshot helps.
    #[error("snapshot {0} is gone")]
    SnapshotGone(u64),
    /// Another writer committed while a transaction was open, in spite of the lock.
    #[error("the catalog moved from snapshot {expected} to {found} during the transaction")]
    Conflict {
        /// The snapshot on which the transaction began.
        expected: u64,
        /// The newest snapshot now.
        found: u64,
    },
    /// A transaction that replaces a file was refused, because the file may hold rows of an unfinished erasure. The
    /// next writer continues the erasure.
    #[error("an erasure was begun and is not finished")]
    Erasing,
    /// A transaction named a file or row that its snapshot does not have.
    #[error("{0} is not in the snapshot the transaction began on")]
    Unknown(String),
    /// The catalog contradicts itself, or a file has contents that it must not have.
    #[error("the catalog is damaged: {0}")]
    Damaged(String),
    /// The ledger of erasures cannot be used.
    #[error("the ledger of erasures {} {what}", .path.display())]
    Ledger {
        /// The ledger's file.
        path: PathBuf,
        /// What is wrong, as the rest of a sentence that begins with the path.
        what: String,
    },
    /// The ledger has erasures that this copy of the lake has never had.
    #[error(
        "the lake is an older copy: its ledger of erasures {} has {missed} that it has never had, so records of erased people may be back; `tabularium check --repeat-erasures` erases them again",
        .path.display()
    )]
    Older {
        /// The ledger's file.
        path: PathBuf,
        /// The number of entries of the lake in the ledger that neither have ended nor are under way in it.
        missed: usize,
    },
    /// A backup has recorded another ledger of erasures since this erasure was entered. A later retry helps.
    #[error("a backup has made another ledger of erasures meanwhile")]
    LedgerReplaced,
    /// The folder has a backup that is being restored, and no lake yet.
    #[error("a restore into {} was begun and is not finished: give the same `tabularium restore` again, or remove the folder", .0.display())]
    Restoring(PathBuf),
    /// The lake is sealed and an open one was requested, or the reverse. Opening a lake does not convert it.
    #[error("the lake at {} is {}", .dir.display(), if *.is_sealed { "sealed, and an open one was asked for" } else { "not sealed; a lake is sealed when it is made, or by `tabularium seal`" })]
    OtherKind {
        /// The lake's folder.
        dir: PathBuf,
        /// Whether the lake is sealed.
        is_sealed: bool,
    },
    /// The keys of a sealed lake cannot be obtained.
    #[error("the lake at {} is sealed, and its keys cannot be used: {source}", .dir.display())]
    Keys {
        /// The lake's folder.
        dir: PathBuf,
        /// Why the keys cannot be obtained.
        source: SealError,
    },
    /// A key of a sealed lake cannot be made, stored or destroyed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// A file could not be read, written or removed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action: `read`, `write`, `remove`, ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// SQLite returned an error.
    #[error("catalog.sqlite: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A Parquet file could not be read or written.
    #[error("cannot {action} {}: {source}", .path.display())]
    Parquet {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The Parquet library's error.
        source: parquet::errors::ParquetError,
    },
}

impl LakeError {
    /// Returns a function for `map_err` that adds the action and the path to a file system error.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> LakeError {
        let path = path.to_owned();
        move |source| LakeError::Io { action, path, source }
    }

    /// Returns a function for `map_err` that adds the action and the path to a Parquet error.
    pub(super) fn parquet<E: Into<parquet::errors::ParquetError>>(
        action: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> LakeError {
        let path = path.to_owned();
        move |source| LakeError::Parquet {
            action,
            path,
            source: source.into(),
        }
    }

    /// Turns errors of a broken catalog into [`LakeError::Mismatch`], whose message says what to do. Returns other
    /// errors unchanged.
    pub(super) fn of_catalog(self, dir: &Path) -> LakeError {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        let what = match &self {
            LakeError::Sqlite(error)
                if matches!(
                    error.sqlite_error_code(),
                    Some(DatabaseCorrupt | NotADatabase | Unknown)
                ) =>
            {
                format!("the catalog is damaged: {error}")
            }
            // SQLite returns these errors if the catalog lacks tables or has wrong values.
            LakeError::Sqlite(
                error @ (rusqlite::Error::SqlInputError { .. }
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::QueryReturnedNoRows),
            ) => format!("the catalog is damaged: {error}"),
            LakeError::Damaged(_) => self.to_string(),
            _ => return self,
        };
        let dir = dir.to_owned();
        LakeError::Mismatch { dir, what }
    }

    /// Whether the error may come from a write, for example because the disk is full. Returns `true` for all SQLite
    /// errors, and for all errors of files except those from reading.
    pub(super) fn is_of_writing(&self) -> bool {
        match self {
            LakeError::Io { action, .. } | LakeError::Parquet { action, .. } => *action != "read",
            LakeError::Sqlite(_) => true,
            _ => false,
        }
    }

    /// Whether a retry may succeed without a repair.
    pub fn retryable(&self) -> bool {
        matches!(self, LakeError::Busy { .. } | LakeError::Conflict { .. })
            || matches!(self, LakeError::Seal(error) if error.retryable())
            || matches!(self, LakeError::Sqlite(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}
