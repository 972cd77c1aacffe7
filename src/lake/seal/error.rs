//! Errors of a sealed lake's keys. No message contains a key.

use std::path::{Path, PathBuf};

use super::key_id::KeyId;

/// An error in making, storing, finding or destroying a key.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// No key-encryption key was given.
    #[error("give its key-encryption key with --key-file, --key-command or TABULARIUM_LAKE_KEY")]
    NoKek,
    /// The key-encryption key could not be obtained.
    #[error("the key-encryption key {origin} {what}")]
    Kek {
        /// The source of the key, in words.
        origin: String,
        /// What is wrong with the key or its source.
        what: String,
    },
    /// The given key-encryption key did not wrap the keys of this database.
    #[error("the key-encryption key given is not the one of {}", .0.display())]
    WrongKek(PathBuf),
    /// The key-encryption key was replaced after this process opened the database.
    #[error("{} was given another key-encryption key meanwhile: start again with the new one", .0.display())]
    Rotated(PathBuf),
    /// A caller requested a rotation to a third key-encryption key, but the current rotation has not finished.
    #[error("{} is on its way to another key-encryption key: finish that rotation first", .0.display())]
    Rotating(PathBuf),
    /// There is no keys database.
    #[error("{} is missing, without which no file of a sealed lake can be read; put it back from where you keep its copy", .0.display())]
    Missing(PathBuf),
    /// A keys database exists already.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// The keys database is damaged, or the file is no keys database.
    #[error("the keys database {} is damaged: {what}; put it back from where you keep its copy", .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong with the database.
        what: String,
    },
    /// A newer program wrote the keys database.
    #[error("the keys database {} has the layout {found}, this program reads {known}", .path.display())]
    Version {
        /// The database.
        path: PathBuf,
        /// The version that the database states.
        found: i64,
        /// The highest version that this program reads.
        known: i64,
    },
    /// The database has no key with this id.
    #[error("{} has no key {id}: the key was destroyed by an erasure, or the database is an older copy", .path.display())]
    UnknownKey {
        /// The database.
        path: PathBuf,
        /// The key's id.
        id: KeyId,
    },
    /// A file is sealed, but the lake was opened without keys.
    #[error("a file is sealed with the key {0}, and the lake was opened without keys")]
    Unopened(KeyId),
    /// Registered copies of the keys database still have destroyed keys, because they could not be written. The text
    /// lists the copies and the reasons.
    #[error(
        "registered copies of keys.sqlite still have them: {0}; make these files writable, or give `tabularium keys forget --copy FILE`"
    )]
    Copies(String),
    /// A registered copy belongs to the lake of another folder.
    #[error("{} was made for the lake in {folder}", .path.display())]
    CopyOfOther {
        /// The copy.
        path: PathBuf,
        /// The folder of its lake.
        folder: String,
    },
    /// The file at the path of a registered copy is not this copy.
    #[error("{} is not the copy that was registered there; give `tabularium keys forget`, and another path", .0.display())]
    NotTheCopy(PathBuf),
    /// A registered copy has keys that the database lacks, so it is not overwritten.
    #[error("{} has keys that keys.sqlite lacks, so it is not replaced; see whether keys.sqlite is an older copy", .0.display())]
    NewerCopy(PathBuf),
    /// The system returned no random numbers.
    #[error("the system gave no random numbers")]
    Random,
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// The attempted action.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// SQLite returned an error.
    #[error("{}: {source}", .path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// SQLite's error.
        source: rusqlite::Error,
    },
}

impl SealError {
    /// Makes a function for `map_err` on file system calls.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> SealError {
        let path = path.to_owned();
        move |source| SealError::Io { action, path, source }
    }

    /// Makes a function for `map_err` on SQLite calls. Errors that show a damaged file become [`SealError::Damaged`].
    pub(super) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> SealError {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let path = path.to_owned();
        move |source| {
            let path = path.clone();
            let is_damage = matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
                || matches!(
                    source,
                    rusqlite::Error::SqlInputError { .. }
                        | rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::QueryReturnedNoRows
                );
            if is_damage {
                SealError::Damaged {
                    path,
                    what: source.to_string(),
                }
            } else {
                SealError::Sqlite { path, source }
            }
        }
    }

    /// Whether the cause is something that the operator gave: a missing or wrong key, or a missing, damaged or foreign
    /// database. Errors of the system and copies that cannot be written do not count.
    pub fn is_of_input(&self) -> bool {
        !matches!(
            self,
            SealError::Io { .. } | SealError::Sqlite { .. } | SealError::Random | SealError::Copies(_)
        )
    }

    /// Whether a retry may succeed without a repair, because another process had locked the database.
    pub fn retryable(&self) -> bool {
        matches!(self, SealError::Sqlite { source, .. }
            if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy))
    }
}
