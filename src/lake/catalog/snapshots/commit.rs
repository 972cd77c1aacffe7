//! The changes of a commit, in the form of the catalog's rows.

use super::super::attachment::AttachmentCommit;
use crate::columns::layout::{ColumnRow, Layout};
use crate::lake::commit::written::WrittenFile;
use crate::lake::owners::scope::Mode;
use crate::lake::seal::{FileKey, Keys};

/// The changes of a snapshot.
#[derive(Debug)]
pub(in crate::lake) struct Commit<'a> {
    /// The snapshot on which the commit was prepared. The commit is refused if the catalog has a newer one.
    pub(in crate::lake) base: u64,
    pub(in crate::lake) time: i64,
    pub(in crate::lake) author: &'a str,
    pub(in crate::lake) message: &'a str,
    pub(in crate::lake) tables: Vec<TableCommit<'a>>,
    pub(in crate::lake) attachments: AttachmentCommit,
    /// The keys of the lake, for the records of sealed attachments.
    pub(in crate::lake) keys: &'a Keys,
}

/// Its changes of one table.
#[derive(Debug)]
pub(in crate::lake) struct TableCommit<'a> {
    pub(in crate::lake) mode: Mode,
    pub(in crate::lake) name: &'static str,
    /// `None` for a table that begins with this snapshot.
    pub(in crate::lake) id: Option<u64>,
    pub(in crate::lake) layout: &'a Layout,
    pub(in crate::lake) new_columns: &'a [ColumnRow],
    pub(in crate::lake) files: Vec<NewFile<'a>>,
    pub(in crate::lake) ended_files: Vec<u64>,
    pub(in crate::lake) ended_deletes: Vec<u64>,
    pub(in crate::lake) deletes: Vec<NewDeleteFile>,
    /// Rows of the files that end, including deleted rows.
    pub(in crate::lake) ended_rows: u64,
    /// Bytes of the table after the snapshot.
    pub(in crate::lake) bytes: u64,
    /// Whether the new files hold the same rows as the files that end.
    pub(in crate::lake) compaction: bool,
}

/// A data file that begins with the snapshot.
#[derive(Debug)]
pub(in crate::lake) struct NewFile<'a> {
    /// Its name in the table's folder.
    pub(in crate::lake) name: String,
    pub(in crate::lake) written: &'a WrittenFile,
}

/// A delete file that begins with the snapshot and ends the data file's earlier one.
#[derive(Debug)]
pub(in crate::lake) struct NewDeleteFile {
    pub(in crate::lake) name: String,
    pub(in crate::lake) data_file: u64,
    pub(in crate::lake) count: u64,
    pub(in crate::lake) bytes: u64,
    pub(in crate::lake) footer_size: u64,
    pub(in crate::lake) key: Option<FileKey>,
}
