//! Opens the SQLite file of the catalog, for readers and for the writer.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::lake::error::LakeError;
use crate::lake::store::folder::Folder;
use crate::lake::store::survey;
use crate::private;

/// The time that a caller waits if the file is locked. A commit locks it only for milliseconds.
pub(in crate::lake) const PATIENCE: Duration = Duration::from_secs(20);

/// Opens a connection that cannot change anything. Fails with [`LakeError::Missing`] if there is no catalog under its
/// final name, with [`LakeError::NoFolder`] if the folder is a file, with [`LakeError::Restoring`] if a backup is being
/// restored there, and with [`LakeError::Mismatch`] if there are data files without a catalog.
pub(in crate::lake) fn open_reader(folder: &Folder) -> Result<Connection, LakeError> {
    let path = folder.catalog();
    if folder.path().is_file() {
        return Err(LakeError::NoFolder(folder.path().to_owned()));
    }
    private::refuse_foreign(&path).map_err(LakeError::io("open", &path))?;
    if !folder.has_catalog() {
        refuse_without_catalog(folder)?;
        return Err(LakeError::Missing(folder.path().to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    if needs_writing(&connection) && !has_log(&path) {
        connection = open_at_rest(&path)?;
    }
    connection.pragma_update(None, "cache_size", -16_000)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Whether SQLite cannot read the file without writing beside it. It must make the write-ahead log and its index, if
/// they are missing, and cannot do this in a folder that this process may only read.
fn needs_writing(connection: &Connection) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    let read = connection.pragma_query_value(None, "schema_version", |row| row.get::<_, i64>(0));
    read.is_err_and(|error| matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly)))
}

/// Opens a file that has no write-ahead log, without making one. No process writes the file, because every writer has a
/// log.
fn open_at_rest(path: &Path) -> Result<Connection, LakeError> {
    let text = path.to_string_lossy();
    let encoded = percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(
        format!("file:{encoded}?immutable=1"),
        flags,
    )?)
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(&log).is_ok_and(|log| log.len() > 0)
}

/// Fails if the folder has data files but no catalog, because then its lake has lost the catalog. Also fails if a
/// backup is being restored there.
pub(in crate::lake) fn refuse_without_catalog(folder: &Folder) -> Result<(), LakeError> {
    folder.refuse_restoring()?;
    // Look for the catalog again: another process may have made it, and the files, since the caller looked.
    if !survey::holds_files(folder)? || folder.has_catalog() {
        return Ok(());
    }
    Err(LakeError::Mismatch {
        dir: folder.path().to_owned(),
        what: "it has files in data/ and no catalog".to_owned(),
    })
}

/// Returns a message if the file of this connection ends within a page: SQLite would read the missing part as zeros.
/// `None` if the file ends with a page. SQLite itself refuses a file that lacks whole pages. A file with a write-ahead
/// log is not checked, because its last pages may be only in the log.
///
/// This function does not open the file. If a process closes a file that one of its SQLite connections has open, the
/// system drops the connection's locks (section 2.2 of <https://sqlite.org/howtocorrupt.html>).
pub(in crate::lake) fn cut_off(connection: &Connection, path: &Path) -> Result<Option<String>, LakeError> {
    if has_log(path) {
        return Ok(None);
    }
    let length = std::fs::metadata(path).map_err(LakeError::io("read", path))?.len();
    let page = connection.pragma_query_value(None, "page_size", |row| row.get::<_, i64>(0))?;
    let whole = length.is_multiple_of(page.unsigned_abs());
    Ok((!whole).then(|| format!("its file ends within a page, after {length} bytes")))
}

/// Opens the connection of the one writer. The file must exist.
///
/// The connection uses a write-ahead log, so readers never wait for the writer. The log is synced at each commit, so a
/// commit survives a crash of the process or the machine. `secure_delete` overwrites deleted values, so an erased value
/// does not stay in free pages.
pub(in crate::lake) fn open_writer(path: &Path) -> Result<Connection, LakeError> {
    private::refuse_foreign(path).map_err(LakeError::io("open", path))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "page_size", 4096)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.pragma_update(None, "cache_size", -16_000)?;
    connection.pragma_update(None, "journal_size_limit", 16 * 1024 * 1024)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Writes a complete copy of the catalog, without a write-ahead log, to a path where no file exists.
pub(in crate::lake) fn copy(reader: &Connection, to: &Path) -> Result<(), LakeError> {
    reader.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    // Opening the copy for writing sets its journal mode, which readers' connections expect.
    open_writer(to).map(drop)
}
