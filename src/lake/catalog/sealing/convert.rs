//! Converts a lake in its catalog: lists the files that a conversion must still replace, and replaces them.

use rusqlite::{Connection, TransactionBehavior, params};

use super::super::attachment::{StoredAttachment, all_attachments, record_again, schedule_attachments};
use super::super::erasure::{Exchange, exchange_files};
use super::super::pending::count;
use super::keys::expire_replaced_keys;
use crate::lake::attachment::{Recorded, is_sealed_name};
use crate::lake::error::LakeError;

/// A data file that a conversion must rewrite, because it or one of its delete files is still unencrypted, or still
/// sealed if the lake is being unsealed.
#[derive(Clone, Copy, Debug)]
pub(in crate::lake) struct OtherFile {
    pub(in crate::lake) table: u64,
    pub(in crate::lake) id: u64,
    pub(in crate::lake) bytes: u64,
}

/// The file that replaces the file of an attachment.
#[derive(Debug)]
pub(in crate::lake) struct ConvertedAttachment {
    pub(in crate::lake) id: u64,
    pub(in crate::lake) name: String,
    pub(in crate::lake) file_bytes: u64,
    /// The new record of the attachment's contents.
    pub(in crate::lake) recorded: Recorded,
}

/// Returns the data files, in all snapshots, that are unencrypted or have an unencrypted delete file. If `are_sealed`
/// is true, returns those that are sealed or have a sealed delete file.
pub(in crate::lake) fn files_of_other_kind(
    connection: &Connection,
    are_sealed: bool,
) -> Result<Vec<OtherFile>, LakeError> {
    let mut statement = connection.prepare(
        "SELECT table_id, data_file_id, file_size_bytes FROM ducklake_data_file
         WHERE (encryption_key IS NOT NULL) = ?1
         UNION
         SELECT f.table_id, f.data_file_id, f.file_size_bytes FROM ducklake_delete_file d
         JOIN ducklake_data_file f ON f.data_file_id = d.data_file_id WHERE (d.encryption_key IS NOT NULL) = ?1
         ORDER BY 2",
    )?;
    let files = statement.query_map([are_sealed], |row| {
        Ok(OtherFile {
            table: row.get(0)?,
            id: row.get(1)?,
            bytes: row.get(2)?,
        })
    })?;
    Ok(files.collect::<Result<_, _>>()?)
}

/// Returns the attachments, in all snapshots, whose files are unencrypted. If `are_sealed` is true, returns those whose
/// files are sealed.
pub(in crate::lake) fn attachments_of_other_kind(
    connection: &Connection,
    are_sealed: bool,
) -> Result<Vec<StoredAttachment>, LakeError> {
    let mut all = all_attachments(connection)?;
    all.retain(|one| is_sealed_name(&one.name) == are_sealed);
    Ok(all)
}

/// Replaces data files and attachments by converted ones in all snapshots, and schedules the old files for deletion.
pub(in crate::lake) fn exchange_converted(
    connection: &mut Connection,
    files: &[&Exchange<'_>],
    attachments: &[&ConvertedAttachment],
) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let data = files.iter().map(|file| file.id);
    expire_replaced_keys(&transaction, data, attachments.iter().map(|one| one.id))?;
    let head = exchange_files(&transaction, files)?;
    for one in attachments {
        schedule_attachments(&transaction, "attachment_id = ?1", one.id, head.time)?;
        let sql = "UPDATE tabularium_attachment SET path = ?, file_size_bytes = ? WHERE attachment_id = ?";
        transaction
            .prepare_cached(sql)?
            .execute(params![one.name, one.file_bytes, one.id])?;
        record_again(&transaction, one.id, &one.recorded)?;
    }
    count(&transaction, 1)?;
    Ok(transaction.commit()?)
}

/// Removes data files and attachments from all snapshots, and schedules their files for deletion. Does not raise the
/// epoch, so no other process may use the lake at the same time.
pub(in crate::lake) fn give_up(
    connection: &mut Connection,
    files: &[Exchange<'_>],
    attachments: &[u64],
) -> Result<(), LakeError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let head = exchange_files(&transaction, &files.iter().collect::<Vec<_>>())?;
    for id in attachments {
        schedule_attachments(&transaction, "attachment_id = ?1", *id, head.time)?;
        transaction.execute("DELETE FROM tabularium_attachment WHERE attachment_id = ?", [id])?;
    }
    Ok(transaction.commit()?)
}
