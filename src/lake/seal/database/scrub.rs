//! Overwrites the remains of destroyed keys. `secure_delete` overwrites the deleted rows. VACUUM removes copies of rows
//! that SQLite moved within its file. Overwriting the journal removes the earlier pages.
//!
//! This program cannot reach copies below the file system (snapshots, wear levelling).

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::super::error::SealError;
use crate::private;

/// The maximum size in bytes of a database that is vacuumed. A larger database is not vacuumed: rows are appended in
/// the order of their numbers, so few rows are ever moved.
const MAX_VACUUM: i64 = 64 << 20;

/// Returns the path of a database's journal. If the database is a link, SQLite puts the journal beside the link's
/// target.
pub(in crate::lake::seal) fn journal(path: &Path) -> PathBuf {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = path.into_os_string();
    name.push("-journal");
    PathBuf::from(name)
}

/// Records that the remains of destroyed keys must be overwritten. Callers do this in the transaction that destroys the
/// keys.
pub(in crate::lake::seal) fn note(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .execute("INSERT OR IGNORE INTO unscrubbed (number) VALUES (1)", [])
        .map(drop)
}

/// Overwrites the remains of destroyed keys, if [`note`] has recorded that there are some. If the process ends before
/// this is complete, the next call repeats it.
pub(in crate::lake::seal) fn scrub(connection: &Connection, path: &Path) -> Result<(), SealError> {
    let asked = SealError::sqlite(path);
    let count = connection.query_row("SELECT count(*) FROM unscrubbed", [], |row| row.get::<_, i64>(0));
    if count.map_err(&asked)? == 0 {
        return Ok(());
    }
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let bytes = number("page_count").map_err(&asked)? * number("page_size").map_err(&asked)?;
    if bytes <= MAX_VACUUM {
        connection.execute_batch("VACUUM").map_err(&asked)?;
    }
    // While this process holds the exclusive lock, no other process uses the journal or begins a new one.
    connection.execute_batch("BEGIN EXCLUSIVE").map_err(&asked)?;
    let journal = journal(path);
    let overwritten = overwrite(&journal).map_err(SealError::io("overwrite", &journal));
    connection.execute_batch("ROLLBACK").map_err(&asked)?;
    overwritten?;
    connection.execute("DELETE FROM unscrubbed", []).map_err(&asked)?;
    Ok(())
}

/// Overwrites a file with zeros, and then truncates it. A missing file is no error. A link is not followed.
pub(in crate::lake::seal) fn overwrite(path: &Path) -> std::io::Result<()> {
    match private::options().write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        opened => overwrite_file(opened?),
    }
}

/// Overwrites an opened file with zeros, and then truncates it.
pub(in crate::lake::seal) fn overwrite_file(mut file: File) -> std::io::Result<()> {
    let zeros = [0; 64 << 10];
    let mut left = file.metadata()?.len();
    while left > 0 {
        let now = left.min(zeros.len() as u64);
        file.write_all(&zeros[..now as usize])?;
        left -= now;
    }
    file.sync_all()?;
    file.set_len(0)?;
    file.sync_all()
}
