//! The changes of a commit, as the catalog's rows describe them.

use super::super::attachment::AttachmentCommit;
use crate::columns::layout::{ColumnRow, Layout};
use crate::lake::commit::written::WrittenFile;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::{FileKey, Keys};

/// The changes of a snapshot.
#[derive(Debug)]
pub(in crate::lake) struct Commit<'a> {
    /// The snapshot on which the commit was prepared. The commit fails if another snapshot is the newest one.
    pub(in crate::lake) base: u64,
    pub(in crate::lake) time: i64,
    pub(in crate::lake) author: &'a str,
    pub(in crate::lake) message: &'a str,
    pub(in crate::lake) tables: Vec<TableCommit<'a>>,
    pub(in crate::lake) attachments: AttachmentCommit,
    /// The keys of the lake, for the records of sealed attachments.
    pub(in crate::lake) keys: &'a Keys,
}

/// The changes of one table in a snapshot.
#[derive(Debug)]
pub(in crate::lake) struct TableCommit<'a> {
    pub(in crate::lake) mode: Mode,
    pub(in crate::lake) name: &'static str,
    /// The id of the table. `None` for a table that begins with this snapshot.
    pub(in crate::lake) id: Option<u64>,
    pub(in crate::lake) layout: &'a Layout,
    pub(in crate::lake) new_columns: &'a [ColumnRow],
    pub(in crate::lake) files: Vec<NewFile<'a>>,
    pub(in crate::lake) ended_files: Vec<u64>,
    pub(in crate::lake) ended_deletes: Vec<u64>,
    pub(in crate::lake) deletes: Vec<NewDeleteFile>,
    /// The number of rows in the files that end, including deleted rows.
    pub(in crate::lake) ended_rows: u64,
    /// The size of the table's files after the snapshot, in bytes.
    pub(in crate::lake) bytes: u64,
    /// Whether the new files have the same rows as the files that end.
    pub(in crate::lake) compaction: bool,
}

/// A data file that begins with the snapshot.
#[derive(Debug)]
pub(in crate::lake) struct NewFile<'a> {
    /// The name of the file in the table's folder.
    pub(in crate::lake) name: String,
    pub(in crate::lake) written: &'a WrittenFile,
}

/// A delete file that begins with the snapshot and replaces the earlier delete file of its data file.
#[derive(Debug)]
pub(in crate::lake) struct NewDeleteFile {
    pub(in crate::lake) name: String,
    pub(in crate::lake) data_file: u64,
    pub(in crate::lake) count: u64,
    pub(in crate::lake) bytes: u64,
    pub(in crate::lake) footer_size: u64,
    pub(in crate::lake) key: Option<FileKey>,
}
