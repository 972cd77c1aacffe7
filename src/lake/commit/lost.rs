//! Finds the files of a copied catalog that the remaining keys cannot open, and removes them from the copy.
//!
//! An erasure destroys the keys of the files that it replaces. An older copy of the lake still has these files and can
//! no longer read them, including the rows of other people. If a delete file cannot be read, its data file is removed
//! too: nobody knows which of its rows are deleted.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};

use super::super::attachment;
use super::super::catalog;
use super::super::catalog::{Exchange, StoredAttachment};
use super::super::check::unattached;
use super::super::error::LakeError;
use super::super::seal::{KekSource, KeyId, KeyStore, Keys, Kind};
use super::super::store::disk::remove;
use super::super::store::folder::Folder;
use super::super::store::open::{Lake, LakeOptions};

/// The files and rows of a copy that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The number of data files that cannot be read, or whose delete file cannot be read.
    pub files: u64,
    /// The number of undeleted rows in the files that `files` counts. Rows that only older snapshots have are included.
    pub rows: u64,
    /// The number of attachments that cannot be read.
    pub attachments: u64,
}

impl Lost {
    /// Whether all files can be read.
    pub fn is_nothing(&self) -> bool {
        *self == Lost::default()
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost {
            files,
            rows,
            attachments,
        } = self;
        write!(
            f,
            "{files} of its data files with {rows} rows, and {attachments} attachments,"
        )
    }
}

/// The keys in a keys database, for a copy of the lake.
#[derive(Debug)]
pub struct CopyKeys {
    keys: Keys,
    known: BTreeSet<KeyId>,
}

impl CopyKeys {
    /// Opens a keys database at any path. Does not change the database.
    pub fn open(database: &Path, source: &KekSource) -> Result<CopyKeys, super::super::seal::SealError> {
        let keys = Keys::of(KeyStore::open_file(database.to_owned(), source.load()?)?);
        let known = keys.ids()?.into_iter().collect();
        Ok(CopyKeys { keys, known })
    }

    /// Counts the files of a copied catalog that these keys do not open.
    pub fn lost(&self, catalog: &Path) -> Result<Lost, LakeError> {
        let connection = open(catalog)?;
        let lost = lost_files(&connection, &self.known)?;
        Ok(Lost {
            files: lost.data.len() as u64,
            rows: lost.data.iter().map(|(_, _, rows)| rows).sum(),
            attachments: lost.attachments.len() as u64,
        })
    }

    /// Prepares a folder with a copied catalog and its files. Removes the files that these keys do not open from the
    /// catalog and from the disk. Writes a keys database with the keys of the remaining files. No other process may use
    /// the folder meanwhile.
    pub fn give_to(&self, dir: &Path) -> Result<(), LakeError> {
        let folder = Folder::new(dir).map_err(LakeError::io("find", dir))?;
        let mut connection = catalog::open_writer(&folder.catalog())?;
        let lost = lost_files(&connection, &self.known)?;
        let snapshot = catalog::load(&connection, &folder, None)?;
        let mut exchanges = Vec::with_capacity(lost.data.len());
        for (table, id, _) in &lost.data {
            let of = snapshot.tables.values().find(|one| one.table_id == *table);
            let of = of.ok_or_else(|| LakeError::Damaged(format!("files of an unknown table {table}")))?;
            exchanges.push(Exchange {
                table: *table,
                layout: &of.layout,
                id: *id,
                written: None,
                end: None,
                deletes: Vec::new(),
            });
        }
        let attachments: Vec<u64> = lost.attachments.iter().map(|one| one.id).collect();
        catalog::give_up(&mut connection, &exchanges, &attachments)?;
        for path in catalog::scheduled(&connection, &folder)? {
            remove(&path)?;
        }
        catalog::forget_scheduled(&connection)?;
        let mut named = BTreeSet::new();
        for id in catalog::named_keys(&connection)? {
            named.extend(id.parse::<KeyId>());
        }
        for one in catalog::all_attachments(&connection)? {
            named.extend(attachment::key_of(Path::new(&one.name))?);
        }
        let named: Vec<KeyId> = named.into_iter().filter(|id| self.known.contains(id)).collect();
        Ok(self.keys.copy_to(dir, Some(&named))?)
    }
}

/// Deletes the `Binary` rows whose attachments were removed, in a new snapshot of the lake in `dir`. Returns the
/// number of these rows.
pub fn drop_unattached(dir: &Path, source: &KekSource) -> Result<u64, LakeError> {
    let options = LakeOptions {
        kek: source.clone(),
        ..LakeOptions::default()
    };
    let lake = Lake::open_with(dir, options)?;
    let rows = lake.with_reader(|reader| unattached(reader, lake.folder()))?;
    let count = rows.iter().map(|rows| rows.positions.len() as u64).sum();
    let mut writer = lake.writer()?;
    let mut transaction = writer.begin();
    for of_file in rows {
        transaction.delete_rows(of_file.mode, of_file.type_id, of_file.file, of_file.positions)?;
    }
    transaction.commit("tabularium", "rows whose attachments cannot be read any more")?;
    Ok(count)
}

/// Whether the lake of a copied catalog is sealed, or was being sealed or unsealed.
pub fn is_sealed_copy(catalog: &Path) -> Result<bool, LakeError> {
    Ok(catalog::kind(&open(catalog)?)? != Kind::Open)
}

/// Opens a copied catalog for reading. The copy has no write-ahead log, so SQLite makes no files beside it.
fn open(catalog: &Path) -> Result<Connection, LakeError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(catalog, flags)?)
}

struct LostFiles {
    /// The table id, the file id and the number of undeleted rows of each data file.
    data: Vec<(u64, u64, u64)>,
    attachments: Vec<StoredAttachment>,
}

fn lost_files(connection: &Connection, known: &BTreeSet<KeyId>) -> Result<LostFiles, LakeError> {
    let is_lost = |id: Option<String>| id.is_some_and(|id| id.parse().is_ok_and(|id| !known.contains(&id)));
    let mut statement = connection.prepare(
        "SELECT f.table_id, f.data_file_id, f.record_count - coalesce(max(d.delete_count) OVER file, 0),
                f.encryption_key, d.encryption_key
         FROM ducklake_data_file f LEFT JOIN ducklake_delete_file d ON d.data_file_id = f.data_file_id
         WINDOW file AS (PARTITION BY f.data_file_id) ORDER BY 2",
    )?;
    let mut rows = statement.query([])?;
    let mut data: Vec<(u64, u64, u64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let file = (row.get(0)?, row.get(1)?, row.get(2)?);
        let is_known = data.last() == Some(&file);
        if !is_known && (is_lost(row.get(3)?) || is_lost(row.get(4)?)) {
            data.push(file);
        }
    }
    let mut attachments = Vec::new();
    for one in catalog::all_attachments(connection)? {
        if attachment::key_of(Path::new(&one.name))?.is_some_and(|id| !known.contains(&id)) {
            attachments.push(one);
        }
    }
    Ok(LostFiles { data, attachments })
}
