//! Opens the SQLite file, for readers and for the writer.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::lake::error::LakeError;
use crate::lake::store::folder::Folder;
use crate::lake::store::survey;

/// SQLite's header at the beginning of its file.
const HEADER_BYTES: usize = 100;

/// A commit holds the file for milliseconds, so a caller that finds it locked waits instead of failing.
pub(in crate::lake) const PATIENCE: Duration = Duration::from_secs(20);

/// Opens a connection that cannot change anything. Returns [`LakeError::Missing`] if no catalog has its final name yet,
/// [`LakeError::NoFolder`] if the folder is a file, and [`LakeError::Mismatch`] if there are data files without a
/// catalog.
pub(in crate::lake) fn open_reader(folder: &Folder) -> Result<Connection, LakeError> {
    let path = folder.catalog();
    if !folder.has_catalog() {
        if folder.path().is_file() {
            return Err(LakeError::NoFolder(folder.path().to_owned()));
        }
        refuse_without_catalog(folder)?;
        return Err(LakeError::Missing(folder.path().to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "cache_size", -16_000)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Refuses a folder that has data files but no catalog, because its lake has lost the catalog.
pub(in crate::lake) fn refuse_without_catalog(folder: &Folder) -> Result<(), LakeError> {
    // Another process may have made the catalog and files since the check.
    if !survey::holds_files(folder)? || folder.has_catalog() {
        return Ok(());
    }
    Err(LakeError::Mismatch {
        dir: folder.path().to_owned(),
        what: "it has files in data/ and no catalog".to_owned(),
    })
}

/// Checks a catalog whose file is shorter than its header says. SQLite would read the missing part of a page as zeros.
/// A file with a write-ahead log may be short, because its last pages may be in the log alone.
pub(in crate::lake) fn cut_off(path: &Path) -> Result<Option<String>, LakeError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(LakeError::io("open", path))?;
    let length = file.metadata().map_err(LakeError::io("read", path))?.len();
    let mut header = [0; HEADER_BYTES];
    if file.read_exact(&mut header).is_err() {
        // SQLite itself refuses a file without a complete header.
        return Ok(None);
    }
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    // The count of pages is valid only if these two numbers agree.
    let pages = if number(24) == number(92) { number(28) } else { 0 };
    let whole = length >= u64::from(pages) * page && (page == 0 || length.is_multiple_of(page));
    Ok((!whole).then(|| format!("its file ends within a page, after {length} bytes")))
}

/// Opens the connection of the one writer. The file exists already.
///
/// The write-ahead log is synced at each commit: readers never wait for the writer, and a commit survives a crash of
/// the process or the machine. `secure_delete` overwrites deleted values, so an erased value does not stay in free
/// pages.
pub(in crate::lake) fn open_writer(path: &Path) -> Result<Connection, LakeError> {
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

/// Writes a whole copy of the catalog, without a log, to a path that does not exist yet.
pub(in crate::lake) fn copy(reader: &Connection, to: &Path) -> Result<(), LakeError> {
    reader.execute("VACUUM INTO ?1", [to.to_string_lossy()])?;
    // Readers' connections expect the journal mode that the writer sets.
    open_writer(to).map(drop)
}
